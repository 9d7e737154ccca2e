"""tick: what has fallen due. Waits end, deadlines pass, and work that was to be canceled, or to be tried for a signal, is
canceled or tried once more.

Any number of processes may tick at once: a run is locked before it is looked at, and a timer that has fired already changes
nothing. Nobody waits here, because who ticks has other work to do: a run that somebody has locked, or that is below one, is
left as it is, so that it is due at the next tick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tenure.engine.caller import Caller
from tenure.flow.engine.advance import advance
from tenure.flow.engine.flow import flow_of
from tenure.flow.engine.moving import Moving, Verb, fold_runs
from tenure.flow.engine.schedules import fire
from tenure.flow.engine.stopping import try_now
from tenure.flow.engine.waking import next_wake, signaled, stopping, timers
from tenure.flow.model.decisions.recover import decide_recover
from tenure.flow.model.decisions.timers import decide_timer
from tenure.store.operation import Op

if TYPE_CHECKING:
    from datetime import datetime

    from tenure.flow.engine.flow import Flow


def tick(caller: Caller, limit: int = 100) -> Op[int]:
    """Let up to ``limit`` runs go on of which something has fallen due, and fire schedules; how many of both there were."""
    fired = 0
    waits = yield from flow_of(caller).storage.next_schedule(caller.tenant)
    if waits is not None and waits <= 0:
        fired = len((yield from fire(caller)))
    due = yield from flow_of(caller).storage.due_runs(caller.tenant, limit)
    if not due:
        return fired
    return fired + (yield from caller.store.transaction(_tick(caller.without_waiting(), due)))


def due_in(caller: Caller) -> Op[float | None]:
    """In how many seconds something falls due; None where nothing will."""
    storage = flow_of(caller).storage
    found = [(yield from storage.next_wake(caller.tenant)), (yield from storage.next_schedule(caller.tenant))]
    return min((seconds for seconds in found if seconds is not None), default=None)


def _tick(caller: Caller, due: list[int]) -> Op[int]:
    flow = flow_of(caller)
    free = yield from flow.storage.lock_runs_free(caller.tenant, due)
    if not free:
        return 0
    runs = yield from fold_runs(flow, caller, free)
    now = yield from caller.store.clock()
    before = {uid: moving.row for uid, moving in runs.items()}
    work = {uid: verbs for uid, moving in runs.items() if (verbs := list(_due(moving, now)))}
    yield from advance(flow, caller, work, opened=runs)
    untried = yield from _try_signaled(flow, caller, runs)
    late = [
        replace(m.row, wake_at=next_wake(m.state, now, tried=m.uid not in untried))
        for m in runs.values() if m.row.seq == before[m.uid].seq
    ]  # fmt: skip
    gone = yield from flow.storage.runs(caller.tenant, [uid for uid in free if uid not in runs])
    late += [replace(row, wake_at=None) for row in gone.values()]
    if late:
        yield from flow.storage.write_rows(late)
    return len(runs)


def _try_signaled(flow: Flow, caller: Caller, runs: Mapping[int, Moving]) -> Op[set[int]]:
    """Try what waits for a signal that is there; the runs of which somebody has such work locked."""
    keys = [(uid, runnable) for uid, moving in runs.items() for runnable in sorted(signaled(moving.state))]
    found = yield from flow.storage.subjects_of(keys)
    subjects = {subject: run for (run, _), (subject, there) in found.items() if there}
    return {subjects[subject] for subject in (yield from try_now(caller, sorted(subjects)))}


def _due(moving: Moving, now: datetime) -> list[Verb]:
    verbs = [
        Verb(lambda state, of, context, k=key: decide_timer(state, of, k, context))  # type: ignore[misc]
        for at, key in sorted(timers(moving.state)) if at <= now
    ]  # fmt: skip
    if stopping(moving.state):
        verbs.append(Verb(decide_recover))
    return verbs
