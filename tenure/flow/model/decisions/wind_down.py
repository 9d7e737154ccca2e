"""How a run that stops comes to its end: what is under way ends, what was done is undone, last first."""

from __future__ import annotations

from tenure.flow.model.commands import ClearTimer, EndRun
from tenure.flow.model.decisions.maps import conclude
from tenure.flow.model.decisions.planning import plan
from tenure.flow.model.decisions.prepare import CannotStart, Prepared, prepare
from tenure.flow.model.decisions.unfolding import Unfolding
from tenure.flow.model.facts import CompensationPlanned, RunTerminal, Status, Undo, in_portions
from tenure.flow.model.state import Done, RunStatus, StepState

#: The end names no more irreversible steps than fit into a fact.
_MAX_NAMED = 100


def wind_down(unfolding: Unfolding) -> bool:
    """One step towards the end; False while something is under way."""
    state = unfolding.state
    stop = state.stop
    assert stop is not None
    if any(conclude(unfolding, runnable) for runnable in state.active):
        return True
    if unfolding.state.active:
        return False
    if state.compensation is None and (undo := to_undo(unfolding)):
        for portion in in_portions(undo):
            unfolding.append(CompensationPlanned(cause=stop.code, steps=portion))
        return True
    undoing = state.compensation
    if undoing is not None and undoing.failed:
        _stopped(unfolding, "FAILED", "compensation_failed")
    elif undoing is not None and undoing.done < len(undoing.steps):
        _undo(unfolding, undoing.steps[undoing.done])
    else:
        _stopped(unfolding, "FAILED" if stop.status is RunStatus.FAILED else "CANCELED", stop.code)
    return True


def to_undo(unfolding: Unfolding) -> list[Undo]:
    """Every step that succeeded and names what undoes it, the last first."""
    found = []
    for done in reversed(unfolding.state.done):
        undo = getattr(unfolding.definition.by_name.get(done.step), "compensate_with", None)
        if done.ok and undo is not None:
            found.append(Undo(step=done.step, iteration=done.iteration, undo=undo))
    return found


def done_entry(unfolding: Unfolding, undo: Undo) -> Done:
    """What the step that is undone did."""
    return next(d for d in unfolding.state.done if d.ok and (d.step, d.iteration) == (undo.step, undo.iteration))


def prepare_undo(unfolding: Unfolding, undo: Undo) -> Prepared:
    """What the compensating step is given: the outputs of the run, that of the step that it undoes as it was then."""
    done = done_entry(unfolding, undo)
    own = {unfolding.definition.step(undo.step).output_key: done.output} if done.output is not None else {}
    before = unfolding.state
    turned = StepState(iteration=undo.iteration)
    unfolding.state = before.model_copy(update={"steps": {**before.steps, undo.undo: turned}})
    try:
        return prepare(unfolding, unfolding.definition.step(undo.undo), own)
    finally:
        unfolding.state = before


def _undo(unfolding: Unfolding, undo: Undo) -> None:
    try:
        one = prepare_undo(unfolding, undo)
    except CannotStart as error:
        _stopped(unfolding, "FAILED", "compensation_failed", error.message)
        return
    plan(unfolding, [one], compensates=True)


def _stopped(unfolding: Unfolding, status: Status, code: str, message: str | None = None) -> None:
    stop = unfolding.state.stop
    assert stop is not None
    end_run(unfolding, status, code=code, step=stop.step, message=message or stop.message)
    unfolding.command(EndRun(RunStatus(status), code=code))


def end_run(
    unfolding: Unfolding, status: Status, *, code: str | None = None, step: str | None = None,
    message: str | None = None, output_hash: str | None = None,
) -> None:  # fmt: skip
    """Append the end."""
    state = unfolding.state
    final = [] if status == "COMPLETED" else [d.step for d in state.done if d.recovery == "irreversible"]
    if state.deadline is not None:
        unfolding.command(ClearTimer("deadline"))
    unfolding.append(
        RunTerminal(
            status=status, code=code, step=step, message=message, output_hash=output_hash,
            irreversible=list(dict.fromkeys(final))[:_MAX_NAMED],
        )
    )  # fmt: skip
