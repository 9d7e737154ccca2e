"""What follows from a change of subjects: their ends are applied to their runs (decision 0010)."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tenure.engine.caller import Caller
from tenure.flow.engine.advance import advance, applying
from tenure.flow.engine.ends import end_of_subject
from tenure.flow.engine.moving import Moving, Verb, open_runs
from tenure.flow.engine.stopping import try_now
from tenure.flow.engine.waking import signaled
from tenure.flow.model.names import Runnable, parse_runnable
from tenure.flow.model.requests import Ended
from tenure.flow.rows import RunnableRow
from tenure.model import euid
from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import Unfolding
from tenure.model.errors import InvalidTransition
from tenure.store.operation import Op

if TYPE_CHECKING:
    from tenure.flow.engine.flow import Flow

_log = logging.getLogger("tenure.flow")
_PUT_OFF = (ft.DEFERRED, ft.HOLD_RELEASED)
"""After these a subject may wait for a signal that came while it could not be tried."""


def follow(flow: Flow, caller: Caller, unfoldings: Sequence[Unfolding]) -> Op[None]:
    """Apply the ends of subjects to the runs that they stand in; one that is reopened must still be waited for."""
    chosen = {u.envelope.uid: u for u in unfoldings if u.thread.in_run and _matters(u)}
    if not chosen:
        return
    runnables = yield from flow.storage.runnables_of(caller.tenant, sorted(chosen))
    ends: dict[int, list[Ended]] = defaultdict(list)
    for uid, runnable in runnables.items():
        if (end := end_of_subject(chosen[uid], runnable.runnable_key)) is not None:
            ends[runnable.run].append(end)
    runs = yield from open_runs(flow, caller, {runnable.run for runnable in runnables.values()})
    for uid, runnable in runnables.items():
        if runnable.run in runs and _reopened(chosen[uid]):
            _check_waited_for(runs[runnable.run], runnable)
    work: dict[int, Sequence[Verb]] = {run: [applying(news)] for run, news in ends.items() if run in runs}
    moved = yield from advance(flow, caller, work, opened=runs)
    for moving in moved.values():
        for refusal in moving.refusals:
            # A run that code started tells its parent of its end, which ends no step: that is as it should be.
            level = logging.DEBUG if refusal.code == "not_dispatched" else logging.WARNING
            run = euid.format_euid(euid.RUN, moving.uid)
            _log.log(level, "run %s: the end of %s was not applied: %s", run, refusal.runnable, refusal.message)
    yield from try_now(caller, list(_signaled(chosen.values(), runnables, moved)))


def blocked(flow: Flow, caller: Caller, unfoldings: Sequence[Unfolding]) -> Op[set[int]]:
    """The subjects whose runs, or runs above these, somebody else has locked; the runs of the others are locked now."""
    chosen = [u.envelope.uid for u in unfoldings if u.thread.in_run and _matters(u)]
    if not chosen:
        return set()
    runnables = yield from flow.storage.runnables_of(caller.tenant, sorted(chosen))
    runs = sorted({runnable.run for runnable in runnables.values()})
    free = set((yield from flow.storage.lock_runs_free(caller.tenant, runs)))
    return {uid for uid, runnable in runnables.items() if runnable.run not in free}


def _matters(unfolding: Unfolding) -> bool:
    return unfolding.envelope.terminal or _reopened(unfolding) or any(f.type in _PUT_OFF for f in unfolding.facts)


def _reopened(unfolding: Unfolding) -> bool:
    return unfolding.before.envelope.terminal and not unfolding.envelope.terminal


def _check_waited_for(moving: Moving, runnable: RunnableRow) -> None:
    at = parse_runnable(runnable.runnable_key)
    step = moving.state.under_way(Runnable(at.step, at.iteration)) if at is not None else None
    if moving.state.end is None and step is not None and step.active:
        return
    raise InvalidTransition(
        f"Its run {euid.format_euid(euid.RUN, moving.uid)} does not wait for this step any more.",
        "Retry the run instead: `tenure run retry` begins a new one that keeps what was done.",
        run=euid.format_euid(euid.RUN, moving.uid), step=runnable.step, status=str(moving.state.status),
    )  # fmt: skip


def _signaled(
    unfoldings: Iterable[Unfolding], runnables: dict[int, RunnableRow], runs: dict[int, Moving]
) -> Iterable[int]:
    """What was put off, to wait for a signal that came in the meantime."""
    for unfolding in unfoldings:
        runnable = runnables.get(unfolding.envelope.uid)
        moving = runs.get(runnable.run) if runnable is not None else None
        if moving is None or runnable is None or unfolding.envelope.terminal:
            continue
        if runnable.runnable_key in signaled(moving.state):
            yield unfolding.envelope.uid
