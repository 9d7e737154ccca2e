"""Maps: how many items may be under way, and when a map has come to its end."""

from __future__ import annotations

from tenure.flow.model.decisions.ending import end_step
from tenure.flow.model.decisions.unfolding import Unfolding
from tenure.flow.model.facts import Outcome, StepError
from tenure.flow.model.names import Runnable
from tenure.flow.model.state import StepState
from tenure.flow.model.steps import MapStep


def verdict(definition: MapStep, step: StepState) -> Outcome | None:
    """How the map ends, as far as its items have decided; None while that is open."""
    items = step.items
    assert items is not None
    good, failed = items.ok.bit_count(), (items.error | items.canceled).bit_count()
    over = items.planned == items.total and items.open == 0
    if definition.join == "first":
        if good or (over and items.total == 0):
            return "ok"
        return "error" if over else None
    if failed > definition.tolerated(items.total):
        return "error"
    return "ok" if over else None


def may_plan(definition: MapStep, step: StepState) -> int:
    """How many further items may begin now."""
    items = step.items
    assert items is not None
    if step.late or verdict(definition, step) is not None:
        return 0
    return max(0, min(definition.max_parallel - items.open, items.total - items.planned))


def conclude(unfolding: Unfolding, runnable: Runnable) -> bool:
    """End a map of which no item is under way any more; False where it goes on."""
    step = unfolding.state.under_way(runnable)
    if step is None or step.items is None or not step.active or step.items.open:
        return False
    definition = unfolding.definition.step(runnable.step)
    outcome = verdict(definition, step)
    stopping = unfolding.state.stop is not None or _past(unfolding, runnable)
    if outcome is None and not (stopping or step.late):
        return False
    if stopping and outcome == "error":
        outcome = "canceled"  # items that were canceled have not failed
    ref = f"map:{unfolding.state.run}/{runnable}" if outcome == "ok" else None
    failed = (step.items.error | step.items.canceled).bit_count()
    error = StepError(code="items_failed", message=f"{failed} of {step.items.total} items failed")
    late = outcome == "error" and step.late
    end_step(
        unfolding, runnable, "canceled" if late else outcome or "canceled", ref=ref,
        error=error if outcome == "error" and not late else None,
    )  # fmt: skip
    return True


def _past(unfolding: Unfolding, runnable: Runnable) -> bool:
    return unfolding.state.step(runnable.step).iteration != runnable.iteration
