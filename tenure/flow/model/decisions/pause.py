"""pause and resume of a whole run: what is under way goes on, and nothing more is planned."""

from __future__ import annotations

from tenure.flow.model.decisions.plan import go_on
from tenure.flow.model.decisions.resolve import decide_resolve
from tenure.flow.model.decisions.unfolding import Context, Decision, answered, check_open, unfold
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.errors import NotPaused
from tenure.flow.model.facts import RunPaused, RunResumed
from tenure.flow.model.requests import PauseRun, ResumeRun
from tenure.flow.model.state import RunState


def decide_pause(state: RunState, definition: WorkflowDefinition, request: PauseRun, context: Context) -> Decision:
    """Pause it; one that is paused already stays so."""
    if (before := answered(state, request, context)) is not None:
        return before
    check_open(state, request)
    unfolding = unfold(state, definition, context)
    if not state.paused:
        unfolding.append(RunPaused(reason=request.reason), request.idempotency_key, request.payload_hash())
    return unfolding.decision()


def decide_resume(state: RunState, definition: WorkflowDefinition, request: ResumeRun, context: Context) -> Decision:
    """Resume the whole run where it is paused, else the pause step at which it stands; ``NotPaused`` for neither."""
    if (before := answered(state, request, context)) is not None:
        return before
    check_open(state, request)
    unfolding = unfold(state, definition, context)
    if state.paused and request.step is None:
        unfolding.append(RunResumed(reason=request.reason), request.idempotency_key, request.payload_hash())
        go_on(unfolding)
        return unfolding.decision()
    if state.manual is None:
        raise NotPaused("The run is not paused.", "There is nothing to resume; `explain` tells what it waits for.")
    return decide_resolve(state, definition, request.as_resolution(), context)
