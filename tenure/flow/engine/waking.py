"""When something of a run falls due, and what: worked out from its state, so that no timer can be lost."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from tenure.flow.model.names import Runnable
from tenure.flow.model.state import Phase, RunState
from tenure.flow.model.times import moment

#: How long work that is to be canceled, or to be tried, may be busy with something else before that is done once more.
STOPPING = timedelta(seconds=5)


def timers(state: RunState) -> Iterator[tuple[datetime, str]]:
    """The timers of a run with their keys, as ``decide_timer`` knows them."""
    if state.end is not None:
        return
    if state.stop is None and (at := moment(state.deadline)) is not None:
        yield at, "deadline"
    for name, step in state.steps.items():
        if not step.active:
            continue
        runnable = Runnable(name, step.iteration)
        if (at := moment(step.until)) is not None and step.phase is Phase.ACTIVE:
            yield at, f"wait:{runnable}"
        if not step.late and (at := moment(step.deadline)) is not None:
            yield at, f"deadline:{runnable}"


def stopping(state: RunState) -> bool:
    """True while work of the run is to be canceled and has not ended."""
    if state.end is not None:
        return False
    if state.stop is not None:
        return any(step.active and not step.compensates for step in state.steps.values())
    return bool(state.superseded) or any(step.active and step.late for step in state.steps.values())


def signaled(state: RunState) -> set[str]:
    """The runnables whose code waits for a signal that is there: they are to be tried."""
    if state.end is not None:
        return set()
    names = {signal.name for signal in state.signals}
    return {waiter.runnable for waiter in state.waiters if waiter.name in names}


def next_wake(state: RunState, now: datetime, *, tried: bool = False) -> datetime | None:
    """When the run is to be looked at again, if nothing happens before. ``tried``: what is signaled was, just now."""
    moments = [at for at, _ in timers(state)]
    if stopping(state) or (not tried and signaled(state)):
        moments.append(now + STOPPING)
    return min(moments, default=None)
