"""timer: it is time. A wait ends, or a deadline has passed."""

from __future__ import annotations

from tenure.flow.model.commands import CancelWork
from tenure.flow.model.decisions.ending import end_step, fail
from tenure.flow.model.decisions.plan import go_on
from tenure.flow.model.decisions.resolve import resolve
from tenure.flow.model.decisions.unfolding import Context, Decision, Unfolding, unfold
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.facts import DeadlinePassed, StepError
from tenure.flow.model.names import Runnable, parse_runnable
from tenure.flow.model.state import Phase, RunState
from tenure.flow.model.times import moment


def decide_timer(state: RunState, definition: WorkflowDefinition, key: str, context: Context) -> Decision:
    """What the timer ``key`` was set for; nothing where it is too early, or nobody waits for it any more."""
    unfolding = unfold(state, definition, context)
    if state.end is not None:
        return unfolding.decision()
    kind, _, name = key.partition(":")
    if kind == "deadline" and not name:
        if state.stop is None and _due(state.deadline, context):
            fail(unfolding, "deadline", None, "the run took longer than its deadline")
    elif (runnable := parse_runnable(name)) is not None:
        _of_step(unfolding, kind, runnable)
    if unfolding.facts:
        go_on(unfolding)
    return unfolding.decision()


def _of_step(unfolding: Unfolding, kind: str, runnable: Runnable) -> None:
    state = unfolding.state
    step = state.steps.get(runnable.step)
    if step is None or step.iteration != runnable.iteration or not step.active:
        return
    if kind == "wait" and step.kind == "wait" and _due(step.until, unfolding.context):
        end_step(unfolding, runnable, "ok")
    elif kind == "deadline" and _due(step.deadline, unfolding.context) and not step.late:
        if step.phase is Phase.OPEN and state.manual is not None:
            resolve(unfolding, state.manual, "expired", ok=False)
        elif step.kind == "wait":
            error = StepError(code="deadline", message="it waited longer than its deadline")
            end_step(unfolding, runnable, "error", error=error)
        elif step.error is not None:
            end_step(unfolding, runnable, "error", error=StepError(code="deadline", message=step.error.message))
            unfolding.command(CancelWork(runnable, "deadline"))
        else:
            unfolding.append(DeadlinePassed(step=runnable.step, iteration=runnable.iteration))
            unfolding.command(CancelWork(runnable, "deadline"))


def _due(at: str | None, context: Context) -> bool:
    when = moment(at)
    return when is not None and when <= context.now
