"""The shape of a definition: which step leads to which, worked out once for each definition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from tenure.flow.model.definition import WorkflowDefinition

EdgeKind = Literal["after", "ok", "error", "back", "undo"]


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """One way from a step to another; ``number`` is that of the route in its list. Each edge is one of its own."""

    source: str
    target: str
    kind: EdgeKind
    number: int = 0
    on_error: bool = False


@dataclass(slots=True)
class Shape:
    """Forward edges and their reverse, compensating steps, and what lies behind a step."""

    names: tuple[str, ...]
    edges: tuple[Edge, ...]
    incoming: dict[str, list[Edge]] = field(default_factory=dict)
    outgoing: dict[str, list[Edge]] = field(default_factory=dict)
    compensates: dict[str, str] = field(default_factory=dict)
    joined: dict[str, tuple[str, ...]] = field(default_factory=dict)
    led_to: set[str] = field(default_factory=set)
    _behind: dict[str, frozenset[str]] = field(default_factory=dict)

    def entered(self, name: str) -> bool:
        """True where routes lead to the step: it starts when one was taken."""
        return name in self.led_to

    @property
    def roots(self) -> list[str]:
        """The steps with which a run begins."""
        return [n for n in self.names if not self.incoming[n] and n not in self.compensates]

    def behind(self, name: str) -> frozenset[str]:
        """The step itself and all that may follow from it, back routes aside: what a re-work of it does again."""
        if name not in self._behind:
            self._behind[name] = frozenset(reach([name], self.outgoing))
        return self._behind[name]


def reach(start: Iterable[str], outgoing: dict[str, list[Edge]]) -> Iterator[str]:
    """Everything that forward edges lead to from ``start``, which is included."""
    seen, waiting = set(start), list(start)
    while waiting:
        name = waiting.pop()
        yield name
        for edge in outgoing[name]:
            if edge.target not in seen:
                seen.add(edge.target)
                waiting.append(edge.target)


def edges_of(step: Any) -> Iterator[Edge]:
    """Every edge that a step declares, whether its other end is there or not."""
    for before in step.after:
        yield Edge(before, step.name, "after")
    for on_error, routes in ((False, step.routes), (True, step.on_error)):
        for number, route in enumerate(routes):
            if not route.ends:
                kind: EdgeKind = "back" if route.limit is not None else "error" if on_error else "ok"
                yield Edge(step.name, route.to, kind, number, on_error)
    if undo := getattr(step, "compensate_with", None):
        yield Edge(step.name, undo, "undo")


def build_shape(definition: WorkflowDefinition) -> Shape:
    """Work it out; edges to steps that are not there are left out."""
    names = tuple(dict.fromkeys(step.name for step in definition.steps))
    edges = tuple(
        edge for step in definition.steps for edge in edges_of(step) if {edge.source, edge.target} <= set(names)
    )
    shape = Shape(names, edges, {n: [] for n in names}, {n: [] for n in names})
    for edge in edges:
        if edge.kind == "undo":
            shape.compensates.setdefault(edge.target, edge.source)
        elif edge.kind != "back":
            shape.incoming[edge.target].append(edge)
            shape.outgoing[edge.source].append(edge)
    shape.joined = {n: tuple(e.source for e in shape.incoming[n] if e.kind == "after") for n in names}
    shape.led_to = {edge.target for edge in edges if edge.kind in ("ok", "error")}
    return shape


_SHAPES: dict[str, Shape] = {}


def shape_of(definition: WorkflowDefinition) -> Shape:
    """The shape of a definition, remembered by its fingerprint."""
    found = _SHAPES.get(definition.fingerprint)
    if found is None:
        if len(_SHAPES) > 512:
            _SHAPES.clear()
        found = _SHAPES[definition.fingerprint] = build_shape(definition)
    return found
