"""What facts about the run as a whole do to the state: pauses, stops, undoing, migration, the end."""

from __future__ import annotations

from typing import Any

from tenure.flow.model import facts as f
from tenure.flow.model.fold_ends import Anomalous
from tenure.flow.model.state import Compensation, End, RunState, RunStatus, Stop
from tenure.model.fact import Fact


def paused(state: RunState, data: f.RunPaused, fact: Fact) -> RunState:
    """Nothing more is planned."""
    if state.paused:
        return state
    return state.model_copy(update={"paused": True, "pause_reason": data.reason})


def resumed(state: RunState, data: f.RunResumed, fact: Fact) -> RunState:
    """The run goes on."""
    if not state.paused:
        raise Anomalous("not_paused")
    return state.model_copy(update={"paused": False, "pause_reason": None})


def cancel_requested(state: RunState, data: f.CancelRequested, fact: Fact) -> RunState:
    """The run stops. A failure that was noted before keeps its name."""
    if state.stop is not None:
        return state
    stop = Stop(status=RunStatus.CANCELED, code="canceled", actor=str(fact.actor), at=fact.at, message=data.reason)
    return state.model_copy(update={"stop": stop})


def failure_noted(state: RunState, data: f.FailureNoted, fact: Fact) -> RunState:
    """The run stops, because it cannot succeed."""
    if state.stop is not None:
        return state
    stop = Stop(
        status=RunStatus.FAILED, code=data.code, actor=str(fact.actor), at=fact.at, step=data.step, message=data.message
    )
    return state.model_copy(update={"stop": stop})


def compensation_planned(state: RunState, data: f.CompensationPlanned, fact: Fact) -> RunState:
    """What is undone, in order; a long plan is told by several facts."""
    if state.stop is None:
        raise Anomalous("compensation_without_stop")
    before = state.compensation.steps if state.compensation is not None else ()
    known = {(undo.step, undo.iteration) for undo in before}
    new = [undo for undo in data.steps if (undo.step, undo.iteration) not in known]
    if not new:
        return state
    if state.compensation is not None and state.compensation.done:
        raise Anomalous("second_compensation")
    return state.model_copy(update={"compensation": Compensation(cause=data.cause, steps=(*before, *new))})


def migrated(state: RunState, data: f.RunMigrated, fact: Fact) -> RunState:
    """The run goes by another version from here."""
    if data.before != state.version:
        raise Anomalous("version_drift")
    return state.model_copy(update={"version": data.version, "fingerprint": data.fingerprint})


def terminal(state: RunState, data: f.RunTerminal, fact: Fact) -> RunState:
    """The end: nothing is active, no boundary is open, no signal waits."""
    end = End(
        status=RunStatus(data.status), at=fact.at, code=data.code, step=data.step, message=data.message,
        output_hash=data.output_hash,
    )  # fmt: skip
    update: dict[str, Any] = {
        "end": end, "manual": None, "paused": False, "pause_reason": None, "signals": (), "waiters": (),
    }  # fmt: skip
    return state.model_copy(update=update)
