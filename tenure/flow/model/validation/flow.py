"""The graph: no cycle but bounded re-work, every step reachable, every join able to complete.

Whether a step can start depends on which routes are taken. Where the number of ways through the decision points is small
they are all tried; else those through each two decision points, or each one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from math import prod

from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.problem import Problem
from tenure.flow.model.shape import Edge, Shape, reach

_MAX_WAYS = 1024
_MAX_WORK = 200_000
#: What a decision point takes: the edges, and whether it succeeded.
Arm = tuple[frozenset[Edge], bool]
Choice = Mapping[str, Arm]


def flow_problems(definition: WorkflowDefinition, shape: Shape) -> Iterator[Problem]:
    """``cycle``, ``rework_not_back``, ``unreachable_step``, ``join_never_completes``, ``no_first_step``."""
    cyclic = list(_cycles(shape))
    yield from cyclic
    if cyclic:
        return
    yield from _rework(definition, shape)
    if not shape.roots:
        yield Problem("no_first_step", None, "steps", "no step begins the run: each waits for another or undoes one")
        return
    yield from _starts(definition, shape)


def _cycles(shape: Shape) -> Iterator[Problem]:
    seen: set[str] = set()
    for name in shape.names:
        after = [edge.target for edge in shape.outgoing[name]]
        if name in seen or name not in set(reach(after, shape.outgoing)):
            continue
        ring = _ring(shape, name)
        seen.update(ring)
        yield Problem(
            "cycle",
            name,
            "",
            f"{' -> '.join(map(repr, ring))} goes round for ever: give a route back a limit, or drop it",
        )


def _ring(shape: Shape, start: str) -> list[str]:
    came: dict[str, str] = {}
    waiting = [start]
    while waiting:
        name = waiting.pop(0)
        for edge in shape.outgoing[name]:
            if edge.target == start:
                ring = [start, name] if name != start else [start]
                while ring[-1] != start:
                    ring.append(came[ring[-1]])
                return [start, *reversed(ring[1:-1]), start] if len(ring) > 1 else [start, start]
            if edge.target not in came:
                came[edge.target] = name
                waiting.append(edge.target)
    return [start]


def _rework(definition: WorkflowDefinition, shape: Shape) -> Iterator[Problem]:
    for edge in shape.edges:
        if edge.kind == "back" and edge.source not in shape.behind(edge.target):
            place = f"{'on_error' if edge.on_error else 'routes'}[{edge.number}].limit"
            yield Problem(
                "rework_not_back",
                edge.source,
                place,
                f"{edge.target!r} is no earlier step: only a route back has a limit",
            )


def _starts(definition: WorkflowDefinition, shape: Shape) -> Iterator[Problem]:
    points = decision_points(definition, shape, _before_joins(shape))
    startable = set(shape.names)
    for group in ways(points, len(shape.names)):
        startable &= set().union(*(started(shape, choice) for choice in group))
    for step in definition.steps:
        if step.name in startable or step.name in shape.compensates:
            continue
        joined = sorted(edge.source for edge in shape.incoming[step.name] if edge.kind == "after")
        never = [name for name in joined if name not in startable]
        if never:
            yield Problem("unreachable_step", step.name, "after", f"it waits for {never[0]!r}, which never starts")
        elif joined:
            both = " and ".join(map(repr, joined)) + (" and what leads to it" if shape.entered(step.name) else "")
            yield Problem(
                "join_never_completes", step.name, "after", f"{both} never succeed in the same run, so it never starts"
            )
        else:
            yield Problem("unreachable_step", step.name, "", "no route that can be taken leads to it")


def _before_joins(shape: Shape) -> set[str]:
    """The steps before any that waits for more than one thing: elsewhere no decision can stand in the way of another."""
    joins = [n for n in shape.names if sum(e.kind == "after" for e in shape.incoming[n]) + shape.entered(n) > 1]
    return before(shape, joins)


def before(shape: Shape, names: Iterable[str]) -> set[str]:
    """Every step from which one of these follows, themselves aside."""
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        for edge in shape.incoming[waiting.pop()]:
            if edge.source not in seen:
                seen.add(edge.source)
                waiting.append(edge.source)
    return seen


def decision_points(definition: WorkflowDefinition, shape: Shape, among: set[str]) -> dict[str, list[Arm]]:
    """The steps of ``among`` with more than one outcome, and what each outcome takes."""
    points: dict[str, list[Arm]] = {}
    for step in definition.steps:
        if step.name not in among:
            continue
        taken = [edge for edge in shape.outgoing[step.name] if edge.kind in ("ok", "error")]
        ok = [frozenset([edge]) for edge in taken if edge.kind == "ok"]
        if any(route.ends or route.limit is not None for route in step.routes) and not step.fan_out:
            ok.append(frozenset())
        arms: list[Arm] = [(frozenset().union(*ok), True)] if step.fan_out or not ok else [(arm, True) for arm in ok]
        arms += [(frozenset([edge]), False) for edge in taken if edge.kind == "error"]
        if any(route.ends for route in step.on_error):
            arms.append((frozenset(), False))
        if len(arms) > 1:
            points[step.name] = list(dict.fromkeys(arms))
    return points


def ways(points: Mapping[str, list[Arm]], steps: int) -> Iterator[list[Choice]]:
    """Groups of choices. What is possible is possible by some choice of every group.

    One group of all choices where these are few enough; else one for each two decision points, or for each one.
    """
    if prod(len(arms) for arms in points.values()) <= _MAX_WAYS:
        yield _choices(points)
        return
    size = 2 if len(points) ** 2 * steps <= _MAX_WORK else 1
    for few in itertools.combinations(points, size):
        yield _choices({name: points[name] for name in few})


def _choices(points: Mapping[str, list[Arm]]) -> list[Choice]:
    return [dict(zip(points, arms, strict=True)) for arms in itertools.product(*points.values())]


def started(shape: Shape, choice: Choice) -> Iterator[str]:
    """The steps that start when the decision points take these arms; a point that is not named takes all of its own."""
    begun: dict[str, None] = {}
    waiting = list(shape.roots)
    while waiting:
        name = waiting.pop()
        if name in begun or not _may_start(shape, name, begun, choice):
            continue
        begun[name] = None
        waiting += [edge.target for edge in shape.outgoing[name]]
    return iter(begun)


def _may_start(shape: Shape, name: str, begun: Mapping[str, None], choice: Choice) -> bool:
    routes = [edge for edge in shape.incoming[name] if edge.kind != "after"]
    joined = [edge for edge in shape.incoming[name] if edge.kind == "after"]
    if any(e.source not in begun or (e.source in choice and not choice[e.source][1]) for e in joined):
        return False
    return not routes or any(e.source in begun and (e.source not in choice or e in choice[e.source][0]) for e in routes)
