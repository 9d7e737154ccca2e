"""Data: nothing is read before it can be there, and what may be missing is marked as optional."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.mapping import paths_in
from tenure.flow.model.paths import Path
from tenure.flow.model.problem import Problem
from tenure.flow.model.shape import Edge, Shape
from tenure.flow.model.steps import MapStep
from tenure.flow.model.validation.flow import before, decision_points, started, ways

Keys = frozenset[str]


def output_problems(definition: WorkflowDefinition, shape: Shape) -> Iterator[Problem]:
    """``unknown_output``, ``output_too_early``, ``output_may_be_missing``, ``output_conflict``, ``item_outside_map``,
    ``event_outside_trigger``, ``unknown_step``.
    """
    sure, possible = _known(definition, shape)
    keys = {step.output_key for step in definition.steps}
    yield from _conflicts(definition, shape)
    for step, place, path, known, may in _uses(definition, shape, sure, possible):
        in_map = step is not None and isinstance(definition.step(step), MapStep) and place.startswith("each.")
        if path.root in ("item", "index") and not in_map:
            yield Problem("item_outside_map", step, place, f"{path} is known only inside a map's each")
        elif path.root == "event":
            yield Problem("event_outside_trigger", step, place, f"{path} is known only in a trigger")
        elif path.root == "errors" and path.key not in shape.names:
            yield Problem("unknown_step", step, place, f"{path}: there is no step {path.key!r}")
        elif path.root in ("outputs", "previous") and path.key not in keys:
            yield Problem("unknown_output", step, place, f"{path}: no step has the output {path.key!r}")
        elif path.root == "outputs" and path.key not in may:
            yield Problem("output_too_early", step, place, f"{path}: no step before it has this output")
        elif path.root == "outputs" and path.key not in known and not path.optional:
            yield Problem(
                "output_may_be_missing", step, place,
                f"{path} is there on some ways only: write '{path}?', or wait for the step in after",
            )  # fmt: skip


def _known(definition: WorkflowDefinition, shape: Shape) -> tuple[dict[str, Keys], dict[str, Keys]]:
    """For each step the output keys that are there for sure when it starts, and those that may be."""
    sure: dict[str, Keys] = {}
    possible: dict[str, Keys] = {}
    for name in _in_order(shape):
        joined = [edge for edge in shape.incoming[name] if edge.kind == "after"]
        routes = [edge for edge in shape.incoming[name] if edge.kind != "after"]
        if undone := shape.compensates.get(name):
            sure[name], possible[name] = _after(Edge(undone, name, "after"), definition, sure), _all_keys(definition)
            continue
        known = frozenset().union(*(_after(edge, definition, sure) for edge in joined))
        if routes:
            known |= frozenset.intersection(*(_after(edge, definition, sure) for edge in routes))
        sure[name] = known
        possible[name] = frozenset().union(*(_after(edge, definition, possible) for edge in joined + routes))
    return sure, possible


def _all_keys(definition: WorkflowDefinition) -> Keys:
    return frozenset(step.output_key for step in definition.steps)


def _after(edge: Edge, definition: WorkflowDefinition, known: Mapping[str, Keys]) -> Keys:
    own: Keys = frozenset() if edge.kind == "error" else frozenset([definition.step(edge.source).output_key])
    return known[edge.source] | own


def _in_order(shape: Shape) -> list[str]:
    """Every step behind those before it; what undoes comes last."""
    order: dict[str, None] = {}
    waiting = [n for n in shape.names if n not in shape.compensates]
    while waiting:
        ready = [n for n in waiting if all(e.source in order for e in shape.incoming[n])]
        order.update(dict.fromkeys(ready))
        waiting = [n for n in waiting if n not in order]
    return [*order, *shape.compensates]


def _uses(
    definition: WorkflowDefinition, shape: Shape, sure: Mapping[str, Keys], possible: Mapping[str, Keys]
) -> Iterator[tuple[str | None, str, Path, Keys, Keys]]:
    certain = _certain(definition, shape)
    at_end = frozenset(definition.step(name).output_key for name in certain)
    for name, place, mapping in definition.mappings():
        known = (sure[name], possible[name]) if name is not None else (at_end, _all_keys(definition))
        for where, path in paths_in(mapping, place):
            yield name, where, path, *known
    for step in definition.steps:
        for on_error, routes in ((False, step.routes), (True, step.on_error)):
            own: Keys = frozenset() if on_error else frozenset([step.output_key])
            for number, route in enumerate(routes):
                for nth, condition in enumerate(route.when):
                    place = f"{'on_error' if on_error else 'routes'}[{number}].when[{nth}]"
                    may = possible[step.name] | own
                    for path in condition.paths():
                        yield step.name, place, path, may, may  # a condition on what is missing is false, not a failure


def _certain(definition: WorkflowDefinition, shape: Shape) -> set[str]:
    """The steps that have succeeded in every run that completes."""
    certain: set[str] = set()
    for name in _in_order(shape):
        if name in shape.compensates:
            continue
        joined = [edge.source for edge in shape.incoming[name] if edge.kind == "after"]
        routes = [edge for edge in shape.incoming[name] if edge.kind != "after"]
        goes_on = any(route.limit is None for route in definition.step(name).on_error)
        if goes_on or not all(source in certain for source in joined):
            continue
        if not routes or any(_always_leads(definition.step(edge.source), name, certain) for edge in routes):
            certain.add(name)
    return certain


def _always_leads(step: Any, target: str, certain: set[str]) -> bool:
    onward = [route for route in step.routes if route.limit is None]
    if step.fan_out:
        return step.name in certain and any(route.fallback and route.to == target for route in onward)
    return step.name in certain and bool(onward) and all(route.to == target for route in onward)


def _conflicts(definition: WorkflowDefinition, shape: Shape) -> Iterator[Problem]:
    """Two steps may share an output key only where one run never keeps both: on arms of a decision."""
    first: dict[str, str] = {}
    for step in definition.steps:
        before = first.setdefault(step.output_key, step.name)
        if before != step.name and _both(definition, shape, before, step.name):
            yield Problem(
                "output_conflict", step.name, "output", f"step {before!r} has the output {step.output_key!r} as well"
            )


def _both(definition: WorkflowDefinition, shape: Shape, one: str, other: str) -> bool:
    if other in shape.behind(one) or one in shape.behind(other):
        return True
    points = decision_points(definition, shape, before(shape, [one]) & before(shape, [other]))
    return all(
        any({one, other} <= set(started(shape, choice)) for choice in group)
        for group in ways(points, len(shape.names))
    )  # fmt: skip
