"""The fold of a run's facts: what each does to the state (S3; decision 0010).

It never raises, whatever a fact carries: what does not fit is kept as an anomaly with its seq, and changes nothing else.
A fact that says again what is known already is no anomaly and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from pydantic import ValidationError

from tenure.flow.model import facts as f
from tenure.flow.model.fold_boundaries import (
    child_started,
    signal_awaited,
    signal_received,
    signal_taken,
    step_kept,
    step_paused,
    step_resolved,
)
from tenure.flow.model.fold_ends import Anomalous
from tenure.flow.model.fold_runs import (
    cancel_requested,
    compensation_planned,
    failure_noted,
    migrated,
    paused,
    resumed,
    terminal,
)
from tenure.flow.model.fold_steps import (
    adopted,
    applied,
    deadline_passed,
    logged,
    planned,
    route_followed,
    stuck,
)
from tenure.flow.model.state import MAX_ANOMALIES, Anomaly, RunState
from tenure.model.fact import Fact

Apply = Callable[[RunState, Any, Fact], RunState]


def nothing(run: int) -> RunState:
    """The state of a run of which nothing was told yet."""
    return RunState(run=run)


def fold(facts: Iterable[Fact], run: int, state: RunState | None = None) -> RunState:
    """What ``facts`` come to, in order of seq, from the beginning or behind the checkpoint ``state``."""
    state = state if state is not None else nothing(run)
    for fact in facts:
        state = evolve(state, fact)
    return state


def evolve(state: RunState, fact: Fact) -> RunState:
    """The state after ``fact``."""
    try:
        return _evolve(state, fact)
    except Anomalous as anomaly:
        return _with_anomaly(state, fact, anomaly.reason)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return _with_anomaly(state, fact, f"malformed: {'.'.join(map(str, first['loc'])) or 'data'}")
    except (TypeError, ValueError, AttributeError, KeyError, OverflowError, RecursionError):
        return _with_anomaly(state, fact, "malformed")


def _evolve(state: RunState, fact: Fact) -> RunState:
    if fact.thread != state.run:
        raise Anomalous("wrong_run")
    if fact.seq <= state.seq:
        raise Anomalous("seq_repeated")
    if fact.seq > state.seq + 1:
        state = _with_anomaly(state, fact, "seq_gap")
    model = f.TYPES.get(fact.type)
    if model is None:
        raise Anomalous("unknown_type")
    if state.end is not None:
        raise Anomalous("after_terminal")
    if fact.at.tzinfo is None:
        raise Anomalous("malformed: at")
    data = model.model_validate(fact.data or {})
    if not state.started and fact.type != f.RunStarted.TYPE:
        raise Anomalous("before_start")
    return _APPLY[fact.type](state, data, fact).model_copy(update={"seq": fact.seq})


def _with_anomaly(state: RunState, fact: Fact, reason: str) -> RunState:
    kept = state.anomalies
    if len(kept) < MAX_ANOMALIES:
        kept = (*kept, Anomaly(seq=fact.seq, type=str(fact.type)[:200], reason=reason[:200]))
    own = fact.thread == state.run
    return state.model_copy(
        update={
            "anomalies": kept,
            "anomaly_count": state.anomaly_count + 1,
            "seq": max(state.seq, fact.seq) if own else state.seq,
        }
    )


def _started(state: RunState, data: f.RunStarted, fact: Fact) -> RunState:
    told = {
        "workflow": data.workflow, "version": data.version, "fingerprint": data.fingerprint, "key": data.key,
        "trigger": data.trigger, "input_hash": data.input_hash, "deadline": data.deadline, "root": data.root,
        "parent": data.parent, "replay_of": data.replay_of, "retry_of": data.retry_of,
    }  # fmt: skip
    if state.started:
        if all(getattr(state, name) == value for name, value in told.items()):
            return state
        raise Anomalous("second_start")
    return state.model_copy(update={**told, "started_at": fact.at})


_APPLY: dict[str, Apply] = {
    f.RunStarted.TYPE: _started,
    f.ResultsAdopted.TYPE: adopted,
    f.RunnablesPlanned.TYPE: planned,
    f.RunnableApplied.TYPE: applied,
    f.RouteFollowed.TYPE: route_followed,
    f.StepStuck.TYPE: stuck,
    f.StepLogged.TYPE: logged,
    f.StepPaused.TYPE: step_paused,
    f.StepResolved.TYPE: step_resolved,
    f.DeadlinePassed.TYPE: deadline_passed,
    f.SignalReceived.TYPE: signal_received,
    f.SignalTaken.TYPE: signal_taken,
    f.SignalAwaited.TYPE: signal_awaited,
    f.ChildStarted.TYPE: child_started,
    f.RunPaused.TYPE: paused,
    f.RunResumed.TYPE: resumed,
    f.CancelRequested.TYPE: cancel_requested,
    f.FailureNoted.TYPE: failure_noted,
    f.CompensationPlanned.TYPE: compensation_planned,
    f.RunMigrated.TYPE: migrated,
    f.StepKept.TYPE: step_kept,
    f.RunTerminal.TYPE: terminal,
}
