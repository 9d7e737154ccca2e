"""apply: the work of runnables came to an end; the ends are kept, and what follows follows."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.flow.model.bits import has
from tenure.flow.model.commands import CancelWork
from tenure.flow.model.decisions.ending import OWN, end_step
from tenure.flow.model.decisions.maps import verdict
from tenure.flow.model.decisions.plan import go_on
from tenure.flow.model.decisions.unfolding import Context, Decision, Refusal, Unfolding, unfold
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.errors import ResultConflict
from tenure.flow.model.facts import ItemEnd, RunnableApplied, StepError, StepStuck, in_portions
from tenure.flow.model.names import Runnable, line, parse_runnable
from tenure.flow.model.requests import Ended
from tenure.flow.model.state import Phase, RunState, StepState
from tenure.flow.model.steps import ChildRun

#: By step and time round, by number: the items of maps of which news came.
Items = dict[Runnable, dict[int, ItemEnd]]


def decide_apply(
    state: RunState, definition: WorkflowDefinition, news: Sequence[Ended], context: Context, *, strict: bool = False
) -> Decision:
    """Apply how runnables ended. What was applied before is left; what does not fit is refused, not raised.

    A refusal changes nothing and keeps nothing else from being applied, because one transaction may tell of the work of
    many runs. ``strict`` raises ``ResultConflict`` for the first instead.
    """
    unfolding = unfold(state, definition, context)
    items: Items = {}
    for one in news:
        refusal = _refusal(unfolding, one, items)
        if refusal is not None:
            unfolding.refusals.append(refusal)
        elif not _known(unfolding.state, one, items):
            _apply(unfolding, one, items)
    if strict and unfolding.refusals:
        first = unfolding.refusals[0]
        raise ResultConflict(
            f"The end of {first.runnable!r} was not applied: {first.message}.",
            "Look at the run: its timeline tells what was applied, and when.",
            runnable=first.runnable, reason=first.code,
        )  # fmt: skip
    for runnable, ends in items.items():
        _apply_items(unfolding, runnable, ends)
    if unfolding.facts:
        go_on(unfolding)
    return unfolding.decision()


def _refusal(unfolding: Unfolding, one: Ended, items: Items) -> Refusal | None:
    state, runnable = unfolding.state, parse_runnable(one.runnable)
    step = state.under_way(Runnable(runnable.step, runnable.iteration)) if runnable is not None else None
    if state.end is not None:
        return Refusal(one.runnable, "run_ended", f"the run has ended: {state.end.status}")
    if runnable is None or step is None:
        late = runnable is not None and runnable.iteration < state.step(runnable.step).iteration
        if late:
            return Refusal(one.runnable, "stale_iteration", "the step was done again since")
        return Refusal(one.runnable, "not_planned", "this run has planned no such runnable")
    if step.kind in OWN or step.kind in ("log", "adopted"):
        return Refusal(one.runnable, "not_dispatched", f"nobody but the run itself ends a {step.kind} step")
    if (one.child is not None or (one.ref or "").startswith("run:")) and not _by_child(unfolding, runnable):
        return Refusal(one.runnable, "not_dispatched", "a run that the code of a step started does not end the step")
    if (runnable.index is None) != (step.items is None):
        return Refusal(
            one.runnable, "not_planned", "it names an item where there is none, or none where there are some"
        )
    if step.items is not None and runnable.index is not None and runnable.index >= step.items.planned:
        return Refusal(one.runnable, "not_planned", "this item of the map is not planned yet")
    if _differs(step, runnable, one):
        return Refusal(one.runnable, "result_conflict", "it ended before with another result")
    return None


def _by_child(unfolding: Unfolding, runnable: Runnable) -> bool:
    """Whether a child run stands for it."""
    step = unfolding.definition.by_name.get(runnable.step)
    return isinstance(getattr(step, "each", step), ChildRun)


def _differs(step: StepState, runnable: Runnable, one: Ended) -> bool:
    if step.items is not None and runnable.index is not None:
        before = {"ok": step.items.ok, "error": step.items.error, "canceled": step.items.canceled}
        return has(step.items.ended, runnable.index) and not has(before[one.outcome], runnable.index)
    if not step.ended:
        return False
    if step.phase is not Phase(one.outcome):
        # Work that was canceled because it was late has failed; and so has work that somebody else canceled.
        return not (
            one.outcome == "canceled" and step.error is not None and step.error.code in ("deadline", "canceled")
        )
    return one.outcome == "ok" and (step.ref, step.result_hash) != (one.ref, one.hash)


def _known(state: RunState, one: Ended, items: Items) -> bool:
    runnable = parse_runnable(one.runnable)
    assert runnable is not None
    whole = Runnable(runnable.step, runnable.iteration)
    step = state.under_way(whole)
    assert step is not None
    if step.items is not None and runnable.index is not None:
        return step.ended or runnable.index in items.get(whole, ()) or has(step.items.ended, runnable.index)
    return step.ended or (one.dead_letter and step.error is not None and not state.stop)


def _apply(unfolding: Unfolding, one: Ended, items: Items) -> None:
    runnable = parse_runnable(one.runnable)
    assert runnable is not None
    if runnable.index is not None:
        end = ItemEnd(index=runnable.index, outcome=one.outcome, ref=one.ref, hash=one.hash)
        items.setdefault(Runnable(runnable.step, runnable.iteration), {})[runnable.index] = end
        return
    error = None
    if one.outcome == "error":
        error_class = line(one.error_class, 100) if one.error_class else None
        code = line(one.error_code or one.error_class or "failed", 200)
        error = StepError(code=code, error_class=error_class, message=line(one.message, 1000) if one.message else None)
        if one.dead_letter and _waits(unfolding, runnable):
            unfolding.append(StepStuck(step=runnable.step, iteration=runnable.iteration, error=error))
            return
    end_step(unfolding, runnable, one.outcome, ref=one.ref, hash=one.hash, error=error, untouched=one.untouched)


def _waits(unfolding: Unfolding, runnable: Runnable) -> bool:
    """A dead letter may wait for an operator, unless the step is to stop."""
    step, now = unfolding.definition.by_name.get(runnable.step), unfolding.state.step(runnable.step)
    goes_on = unfolding.state.stop is None and not now.late and now.iteration == runnable.iteration
    return goes_on and getattr(step, "on_dead_letter", "fail") == "wait"


def _apply_items(unfolding: Unfolding, runnable: Runnable, ends: dict[int, ItemEnd]) -> None:
    before = unfolding.state.under_way(runnable)
    definition = unfolding.definition.step(runnable.step)
    open_before = before is not None and verdict(definition, before) is None
    for portion in in_portions([ends[index] for index in sorted(ends)]):
        unfolding.append(RunnableApplied(step=runnable.step, iteration=runnable.iteration, items=portion))
    after = unfolding.state.under_way(runnable)
    if after is None or after.items is None or unfolding.state.stop is not None or after.late:
        return
    decided = verdict(definition, after)
    if open_before and decided is not None and after.items.open:
        unfolding.command(CancelWork(runnable, "items_failed" if decided == "error" else "first_succeeded"))
