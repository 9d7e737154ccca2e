"""How steps end, and how a run comes to a stop."""

from __future__ import annotations

from functools import partial
from typing import Any

from tenure.flow.model.commands import CancelWork, ClearTimer
from tenure.flow.model.decisions.transition import NOWHERE, Transition, transition
from tenure.flow.model.decisions.unfolding import Unfolding
from tenure.flow.model.facts import FailureNoted, Outcome, RunnableApplied, StepError, StepResolved
from tenure.flow.model.names import Runnable, line
from tenure.flow.model.state import Output, Phase, StepState

#: Kinds of steps that end by a decision alone: nobody else reports them.
OWN = frozenset({"wait", "approval", "pause"})


def end_step(
    unfolding: Unfolding, runnable: Runnable, outcome: Outcome, *, ref: str | None = None, hash: str | None = None,  # noqa: A002
    error: StepError | None = None, signal: int | None = None, untouched: bool = False,
) -> None:  # fmt: skip
    """Append how a step ended and which routes it takes; an end without a way on makes the run fail."""
    state = unfolding.state
    step = state.under_way(runnable)
    assert step is not None
    past = step is not state.steps.get(runnable.step)
    if step.late and outcome == "canceled":
        outcome, error = "error", StepError(code="deadline", message="it took longer than its deadline")
    if outcome == "canceled" and not (past or state.stop or step.compensates):
        outcome, error = "error", StepError(code="canceled", message="its work was canceled")
    quiet = past or state.stop is not None or step.compensates
    output = Output(step=runnable.step, iteration=runnable.iteration, ref=ref)
    way = NOWHERE if quiet else _way(unfolding, runnable.step, step, outcome, output, error)
    before_rework(unfolding, way)
    fact = partial(
        RunnableApplied, step=runnable.step, iteration=runnable.iteration, outcome=outcome, ref=ref, hash=hash, error=error,
        signal=signal, untouched=untouched,
    )  # fmt: skip
    unfolding.append_all(way.told(fact))
    clear_timers(unfolding, runnable, step)
    after_rework(unfolding, way)
    if not quiet and not way.found:
        _no_way_on(unfolding, runnable, outcome, error)


def _way(
    unfolding: Unfolding, name: str, step: StepState, outcome: Outcome, output: Output, error: StepError | None
) -> Transition:
    definition = unfolding.definition.step(name)
    if outcome == "ok":
        return transition(unfolding, definition, on_error=False, own={definition.output_key: output})
    failed = step.model_copy(update={"error": error})
    seen = unfolding.state.model_copy(update={"steps": {**unfolding.state.steps, name: failed}})
    return transition(Unfolding(seen, unfolding.definition, unfolding.context), definition, on_error=True, own={})


def way_of(unfolding: Unfolding, name: str, *, ok: bool, value: Any = None, code: str = "") -> Transition:
    """The way on from a manual boundary."""
    step = unfolding.state.step(name)
    output = Output(step=name, iteration=step.iteration, value=value)
    return _way(unfolding, name, step, "ok" if ok else "error", output, None if ok else StepError(code=code))


def no_way_on(unfolding: Unfolding, runnable: Runnable, *, ok: bool, code: str, message: str | None = None) -> None:
    """A boundary was passed and no route holds."""
    _no_way_on(unfolding, runnable, "ok" if ok else "error", StepError(code=code, message=message))


def _no_way_on(unfolding: Unfolding, runnable: Runnable, outcome: Outcome, error: StepError | None) -> None:
    if outcome == "ok":
        fail(unfolding, "no_route", runnable, "none of its routes holds")
        return
    assert error is not None
    fail(unfolding, error.code, runnable, error.message)


def fail(unfolding: Unfolding, code: str, runnable: Runnable | None = None, message: str | None = None) -> None:
    """The run cannot succeed any more: it stops."""
    where = {"step": runnable.step, "iteration": runnable.iteration} if runnable is not None else {}
    unfolding.append(FailureNoted(code=code, message=line(message, 1000) if message else None, **where))  # type: ignore[arg-type]
    stop_all(unfolding, code)


def stop_all(unfolding: Unfolding, reason: str) -> None:
    """Everything that is under way is to end: decisions end what is theirs, the engine cancels the rest."""
    for runnable in unfolding.state.active:
        stop(unfolding, runnable, reason)


def stop(unfolding: Unfolding, runnable: Runnable, reason: str) -> None:
    """End one step that is under way."""
    step = unfolding.state.under_way(runnable)
    if step is None or not step.active:
        return
    if step.error is not None:
        # Its work gave up and waited for an operator: nobody else will tell of an end. Should it have begun again, it is
        # canceled all the same.
        unfolding.append(
            RunnableApplied(step=runnable.step, iteration=runnable.iteration, outcome="error", error=step.error)
        )
        unfolding.command(CancelWork(runnable, reason))
    elif step.phase is Phase.OPEN:
        unfolding.append(StepResolved(step=runnable.step, iteration=runnable.iteration, decision="canceled"))
    elif step.kind == "wait":
        unfolding.append(RunnableApplied(step=runnable.step, iteration=runnable.iteration, outcome="canceled"))
    else:
        unfolding.command(CancelWork(runnable, reason))
    clear_timers(unfolding, runnable, step)


def before_rework(unfolding: Unfolding, way: Transition) -> None:
    """A boundary that is open among the steps that are done again is closed first."""
    here = unfolding.state.manual
    if here is not None and here.step in way.reset:
        stop(unfolding, Runnable(here.step, here.iteration), "rework")


def after_rework(unfolding: Unfolding, way: Transition) -> None:
    """What was under way among the steps that are done again is stopped."""
    if way.rework is None:
        return
    for key, step in list(unfolding.state.superseded.items()):
        runnable = Runnable(key.partition("#")[0], step.iteration)
        if runnable.step in way.reset:
            stop(unfolding, runnable, "rework")


def clear_timers(unfolding: Unfolding, runnable: Runnable, step: StepState) -> None:
    """No timer of that step is needed any more."""
    if step.deadline is not None:
        unfolding.command(ClearTimer(f"deadline:{runnable}"))
    if step.until is not None:
        unfolding.command(ClearTimer(f"wait:{runnable}"))
