"""A run, or a definition alone, as nodes and edges: what the pictures and the user interface are drawn from."""

from __future__ import annotations

from typing import Any

from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.names import rework_key
from tenure.flow.model.progress import cannot_start
from tenure.flow.model.routes import Route
from tenure.flow.model.shape import Edge, shape_of
from tenure.flow.model.state import Phase, RunState
from tenure.model.json_text import canonical_json, instant

_OPERATORS = {
    "eq": "=",
    "ne": "≠",
    "lt": "<",
    "le": "≤",
    "gt": ">",
    "ge": "≥",
    "not_in": "not in",
    "starts_with": "starts with",
}
_MAX_LABEL = 60


def graph(definition: WorkflowDefinition, state: RunState | None = None) -> dict[str, Any]:
    """JSON-ready: ``nodes`` (id, performer, state, ...), ``edges`` (from, to, kind, label, taken), and the run's status.

    A node's state is a step's phase, or ``skipped`` where it cannot begin any more, or ``undone``.
    """
    never = cannot_start(state, definition) if state is not None else frozenset()
    return {
        "workflow": definition.name,
        "version": definition.version,
        "status": str(state.status) if state is not None else None,
        "nodes": [_node(definition, state, step, never) for step in definition.steps],
        "edges": [_edge(definition, state, edge) for edge in shape_of(definition).edges],
    }


def _node(definition: WorkflowDefinition, state: RunState | None, step: Any, never: frozenset[str]) -> dict[str, Any]:
    work = getattr(step, "each", step)
    node: dict[str, Any] = {
        "id": step.name, "performer": step.performer, "state": str(Phase.IDLE), "iteration": 1,
        "queue": (getattr(work, "queue", None) or definition.queue) if hasattr(work, "queue") else None,
        "description": step.description or getattr(step, "prompt", "") or None,
        "compensates": shape_of(definition).compensates.get(step.name), "approvers": list(getattr(step, "approvers", ())),
    }  # fmt: skip
    if state is None:
        return node
    now = state.step(step.name)
    node |= {
        "state": _state(state, step.name, never), "iteration": now.iteration,
        "planned_at": instant(now.planned_at) if now.planned_at else None,
        "ended_at": instant(now.ended_at) if now.ended_at else None,
        "error": now.error.code if now.error is not None else None,
    }  # fmt: skip
    if now.items is not None:
        node["items"] = {
            "total": now.items.total, "planned": now.items.planned, "ok": now.items.ok.bit_count(),
            "error": now.items.error.bit_count(), "canceled": now.items.canceled.bit_count(), "open": now.items.open,
        }  # fmt: skip
    return node


def _state(state: RunState, name: str, never: frozenset[str]) -> str:
    plan = state.compensation
    if plan is not None and any(undo.step == name for undo in plan.steps[: plan.done]):
        return "undone"
    if name in never:
        return "skipped"
    return str(state.step(name).phase)


def _edge(definition: WorkflowDefinition, state: RunState | None, edge: Edge) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "from": edge.source, "to": edge.target, "kind": edge.kind, "on_error": edge.on_error,
        "label": _label(definition, edge), "taken": _taken(state, edge) if state is not None else False,
    }  # fmt: skip
    return drawn


def _label(definition: WorkflowDefinition, edge: Edge) -> str:
    if edge.kind == "undo":
        return "undone by"
    if edge.kind == "after":
        return ""
    step = definition.step(edge.source)
    routes: tuple[Route, ...] = step.on_error if edge.on_error else step.routes
    route = routes[edge.number]
    parts = ["on error"] if edge.on_error else []
    parts += [f"{c.path.removeprefix('$.')} {_OPERATORS.get(c.op, c.op)}{_value(c.value, c.op)}" for c in route.when]
    if not parts and len(routes) > 1 and not step.fan_out:
        parts = ["else"]
    text = " and ".join(parts)
    if len(text) > _MAX_LABEL:
        text = text[: _MAX_LABEL - 1] + "…"
    return f"{text} (at most {route.limit}×)".strip() if route.limit is not None else text


def _value(value: Any, op: str) -> str:
    if op in ("exists", "missing"):
        return ""
    return f" {value}" if isinstance(value, str) else f" {canonical_json(value)}"


def _taken(state: RunState, edge: Edge) -> bool:
    source = state.step(edge.source)
    if edge.kind == "after":
        return source.phase is Phase.OK and state.step(edge.target).phase is not Phase.IDLE
    if edge.kind == "undo":
        plan = state.compensation
        return plan is not None and any(undo.step == edge.source for undo in plan.steps[: plan.done + 1])
    if edge.kind == "back":
        return rework_key(edge.source, edge.target, on_error=edge.on_error) in state.reworks
    failed = source.phase is Phase.ERROR
    return edge.number in source.routes and failed == edge.on_error
