"""What facts do to the state that are not about the work itself: boundaries, signals, children, what code keeps."""

from __future__ import annotations

from tenure.flow.model import facts as f
from tenure.flow.model.fold_ends import Anomalous, ended, take, with_step
from tenure.flow.model.names import Runnable, parse_runnable
from tenure.flow.model.state import (
    MAX_SIGNALS,
    Manual,
    Output,
    Phase,
    Resolution,
    RunState,
    Signal,
    StepState,
    Waiter,
)
from tenure.model.fact import Fact
from tenure.model.json_text import instant

_PHASES = {
    "resumed": Phase.OK, "approved": Phase.OK, "rejected": Phase.ERROR, "expired": Phase.ERROR, "canceled": Phase.CANCELED,
}  # fmt: skip
_CODES = {"rejected": "rejected", "expired": "deadline"}


def step_paused(state: RunState, data: f.StepPaused, fact: Fact) -> RunState:
    """The run stands at a manual boundary; there is one at a time (S3)."""
    here = state.manual
    if here is not None:
        if (here.step, here.iteration, here.kind) == (data.step, data.iteration, data.kind):
            return state
        raise Anomalous("second_boundary")
    step = state.step(data.step)
    if step.phase not in (Phase.IDLE, Phase.REACHED):
        raise Anomalous("conflicting_plan")
    if step.iteration != data.iteration:
        raise Anomalous("wrong_iteration")
    opened = StepState(
        iteration=data.iteration, phase=Phase.OPEN, kind=data.kind, output=data.output, planned_at=fact.at,
        deadline=data.deadline, plan_seq=fact.seq,
    )  # fmt: skip
    manual = Manual(step=data.step, iteration=data.iteration, kind=data.kind, since=fact.at, deadline=data.deadline)
    return with_step(state, data.step, opened, manual=manual)


def step_resolved(state: RunState, data: f.StepResolved, fact: Fact) -> RunState:
    """The boundary is passed, in one way or the other."""
    here = state.manual
    if here is None or (here.step, here.iteration) != (data.step, data.iteration):
        last = state.resolved
        said = (data.step, data.iteration, data.decision, data.comment)
        if last is not None and said == (last.step, last.iteration, last.decision, last.comment):
            return state
        raise Anomalous("stale_resolution")
    step = state.under_way(Runnable(data.step, data.iteration))
    if step is None or step.phase is not Phase.OPEN:
        raise Anomalous("stale_resolution")
    resolution = Resolution(
        step=data.step, iteration=data.iteration, decision=data.decision, actor=str(fact.actor), at=fact.at,
        comment=data.comment,
    )  # fmt: skip
    value = {"decision": data.decision, "actor": str(fact.actor), "at": instant(fact.at), "comment": data.comment}
    output = Output(step=data.step, iteration=data.iteration, value=value)
    phase = _PHASES[data.decision]
    error = f.StepError(code=_CODES[data.decision], message=data.comment) if data.decision in _CODES else None
    state = state.model_copy(update={"manual": None, "resolved": resolution})
    return ended(state, step, data, fact, phase, output, error)


def signal_received(state: RunState, data: f.SignalReceived, fact: Fact) -> RunState:
    """The signal waits to be taken."""
    for known in state.signals:
        if data.signal_key is not None and (known.name, known.signal_key) == (data.name, data.signal_key):
            if known.hash == data.hash:
                return state
            raise Anomalous("conflicting_signal")
    if len(state.signals) >= MAX_SIGNALS:
        raise Anomalous("signals_full")
    signal = Signal(seq=fact.seq, name=data.name, signal_key=data.signal_key, ref=data.ref, hash=data.hash)
    return state.model_copy(update={"signals": (*state.signals, signal)})


def signal_taken(state: RunState, data: f.SignalTaken, fact: Fact) -> RunState:
    """Code that waited has its signal."""
    _must_be_under_way(state, data.runnable)
    state = take(state, data.signal)
    return state.model_copy(update={"waiters": tuple(w for w in state.waiters if w.runnable != data.runnable)})


def signal_awaited(state: RunState, data: f.SignalAwaited, fact: Fact) -> RunState:
    """Code waits for a signal."""
    _must_be_under_way(state, data.runnable)
    waiter = Waiter(runnable=data.runnable, name=data.name)
    if waiter in state.waiters:
        return state
    if len(state.waiters) >= MAX_SIGNALS:
        raise Anomalous("waiters_full")
    return state.model_copy(update={"waiters": (*state.waiters, waiter)})


def step_kept(state: RunState, data: f.StepKept, fact: Fact) -> RunState:
    """The result of a step inside a task is kept; the state only counts them."""
    runnable = _must_be_under_way(state, data.runnable)
    step = state.steps[runnable.step]
    if step.iteration != runnable.iteration:
        return state
    return with_step(state, runnable.step, step.model_copy(update={"kept": step.kept + 1}))


def _must_be_under_way(state: RunState, key: str) -> Runnable:
    runnable = parse_runnable(key)
    step = state.under_way(Runnable(runnable.step, runnable.iteration)) if runnable is not None else None
    if runnable is None or step is None or not step.active:
        raise Anomalous("not_under_way")
    return runnable


def child_started(state: RunState, data: f.ChildStarted, fact: Fact) -> RunState:
    """Child runs of a step, or of the code of one (S3, Child Run Lineage)."""
    step = state.under_way(Runnable(data.step, data.iteration))
    if step is None:
        raise Anomalous("child_before_plan")
    if data.origin is not None:
        return _from_code(state, data)
    if step.items is not None:
        return state  # the children of a map's items are in the facts, and know their parents
    if len(data.children) != 1:
        raise Anomalous("malformed: children")
    child = data.children[0]
    if step.child is not None:
        if (step.child, step.child_key) == (child.run, child.child_key):
            return state
        raise Anomalous("conflicting_child")
    if state.step(data.step).iteration != data.iteration:
        return state
    return with_step(state, data.step, step.model_copy(update={"child": child.run, "child_key": child.child_key}))


def _from_code(state: RunState, data: f.ChildStarted) -> RunState:
    children = dict(state.children)
    for child in data.children:
        if children.setdefault(child.child_key, child.run) != child.run:
            raise Anomalous("conflicting_child")
    return state.model_copy(update={"children": children})
