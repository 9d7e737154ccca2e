"""cancel: the run stops. What is under way is canceled, what comes late is kept, what was done is undone."""

from __future__ import annotations

from tenure.flow.model.decisions.ending import stop_all
from tenure.flow.model.decisions.plan import go_on
from tenure.flow.model.decisions.unfolding import Context, Decision, answered, check_open, unfold
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.facts import CancelRequested
from tenure.flow.model.requests import CancelRun
from tenure.flow.model.state import RunState, RunStatus


def decide_cancel(state: RunState, definition: WorkflowDefinition, request: CancelRun, context: Context) -> Decision:
    """Cancel it. A run that stops already, or was canceled, is left; one that ended otherwise is ``RunEnded``."""
    if (before := answered(state, request, context)) is not None:
        return before
    if state.end is not None and state.end.status is RunStatus.CANCELED:
        return Decision(state)
    check_open(state, request)
    unfolding = unfold(state, definition, context)
    if state.stop is not None:
        return unfolding.decision()
    unfolding.append(CancelRequested(reason=request.reason), request.idempotency_key, request.payload_hash())
    stop_all(unfolding, "canceled")
    go_on(unfolding)
    return unfolding.decision()
