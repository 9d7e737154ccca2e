"""Which steps can still begin: what lies behind routes that were not taken cannot."""

from __future__ import annotations

from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.shape import Edge, shape_of
from tenure.flow.model.state import Phase, RunState

_OVER = (Phase.OK, Phase.ERROR, Phase.CANCELED)


def cannot_start(state: RunState, definition: WorkflowDefinition) -> frozenset[str]:
    """The steps that have not begun and, unless something is done again, never will in this run."""
    shape = shape_of(definition)
    can: set[str] = {name for name in shape.names if state.step(name).phase is not Phase.IDLE}
    open_steps = {name for name in can if state.step(name).phase not in _OVER}
    waiting = list(shape.names)
    while waiting:
        found = [name for name in waiting if name not in can and _may(state, shape.incoming[name], can, open_steps)]
        if not found or state.end is not None or state.stop is not None:
            break
        can |= set(found)
        open_steps |= set(found)
        waiting = [name for name in waiting if name not in can]
    return frozenset(name for name in shape.names if name not in can and name not in shape.compensates)


def _may(state: RunState, incoming: list[Edge], can: set[str], open_steps: set[str]) -> bool:
    joined = [edge.source for edge in incoming if edge.kind == "after"]
    routes = [edge for edge in incoming if edge.kind != "after"]
    if any(name not in can or (name not in open_steps and state.step(name).phase is not Phase.OK) for name in joined):
        return False
    return not routes or any(edge.source in open_steps or edge.target in state.step(edge.source).to for edge in routes)
