"""Ending what is under way: subjects are canceled where nobody has them locked, child runs are told to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tenure.engine.acting import context_of
from tenure.engine.caller import Caller
from tenure.flow.engine.ends import end_of_subject
from tenure.flow.engine.moving import Moving, Verb
from tenure.flow.model.commands import CancelWork, Wake
from tenure.flow.model.decisions.cancel import decide_cancel as decide_cancel_run
from tenure.flow.model.names import parse_runnable
from tenure.flow.model.requests import CancelRun, Ended
from tenure.flow.port import Standing
from tenure.model import fact_types as ft
from tenure.model.decisions.cancel import decide_cancel
from tenure.model.decisions.requeue import decide_requeue
from tenure.model.decisions.unfolding import Unfolding
from tenure.model.errors import QueueUnknown, TemplateNotServed
from tenure.model.requests import CancelSubject, RequeueSubject
from tenure.model.states import CLAIMABLE, TERMINAL
from tenure.store.operation import Op
from tenure.store.records import Target

if TYPE_CHECKING:
    from tenure.flow.engine.flow import Flow

Stopped = tuple[list[tuple[int, Ended]], dict[int, list[Verb]]]
"""News by run of what was canceled, and what child runs are asked."""


def stop(flow: Flow, caller: Caller, moved: Sequence[Moving]) -> Op[Stopped]:
    """Carry out every ``CancelWork``, and report each end.

    A subject that somebody else has locked is about to end, or to go on, by itself; its end will be applied, and what goes
    on is canceled when the run is looked at again (``waking.STOPPING``). So are child runs where the caller does not wait.
    """
    asked = {
        (m.uid, c.runnable.step, c.runnable.iteration): c.reason
        for m in moved for c in m.commands if isinstance(c, CancelWork)
    }  # fmt: skip
    if not asked:
        return [], {}
    runs = sorted({run for run, _, _ in asked})
    live = yield from flow.storage.standings(runs, everything=False)
    chosen = {
        s.runnable.subject: (s, reason) for s in live
        if s.state is not None and (reason := asked.get((s.runnable.run, s.runnable.step, s.runnable.iteration)))
    }  # fmt: skip
    news = yield from cancel_work(caller, chosen)
    verbs: dict[int, list[Verb]] = {}
    for child in (yield from flow.storage.children(caller.tenant, runs)):
        at = parse_runnable(child.parent_runnable)
        if at is None or child.ended_at is not None or child.parent_run is None:
            continue
        if (reason := asked.get((child.parent_run, at.step, at.iteration))) is not None:
            request = CancelRun(reason=reason)
            verbs[child.uid] = [Verb(lambda state, of, context, r=request: decide_cancel_run(state, of, r, context))]  # type: ignore[misc]
    if verbs and not caller.waits:
        free = yield from flow.storage.lock_runs_free(caller.tenant, sorted(verbs))
        verbs = {child: verbs[child] for child in free}
    return news, verbs


def cancel_work(caller: Caller, chosen: dict[int, tuple[Standing, str]]) -> Op[list[tuple[int, Ended]]]:
    """Cancel subjects, each for its reason; the news by run of those that nobody had locked."""
    if not chosen:
        return []
    targets = [Target((ft.CANCELED,), subject=uid) for uid in sorted(chosen)]
    loaded = yield from caller.store.load(caller.tenant, targets, skip_locked=True)
    context = context_of(caller, loaded)
    news: list[tuple[int, Ended]] = []
    unfoldings = []
    for uid, thread in sorted(loaded.threads.items()):
        if thread.envelope.state in TERMINAL:
            continue
        unfolding = Unfolding.of(thread)
        decide_cancel(unfolding, CancelSubject(subject=uid, reason=chosen[uid][1]), context)
        unfoldings.append(unfolding)
        runnable = chosen[uid][0].runnable
        if (end := end_of_subject(unfolding, runnable.runnable_key)) is not None:
            news.append((runnable.run, end))
    yield from caller.store.apply(unfoldings)
    return news


def wake(flow: Flow, caller: Caller, moved: Sequence[Moving]) -> Op[None]:
    """Let subjects whose code waits for a signal be tried at once, where they are put off.

    One that somebody has locked is tried when the run is looked at again (``waking.signaled``).
    """
    keys = [(m.uid, c.runnable) for m in moved for c in m.commands if isinstance(c, Wake)]
    if not keys:
        return
    found = yield from flow.storage.subjects_of(keys)
    yield from try_now(caller, [subject for subject, there in found.values() if there])


def try_now(caller: Caller, subjects: Sequence[int]) -> Op[set[int]]:
    """Make subjects that are put off eligible now; what is being worked on will look for itself, as will what is held
    once it is released. Those that could not be looked at, because somebody has them locked.
    """
    if not subjects:
        return set()
    targets = [Target((ft.REQUEUED,), subject=uid) for uid in sorted(subjects)]
    loaded = yield from caller.store.load(caller.tenant, targets, skip_locked=True)
    context = context_of(caller, loaded)
    unfoldings = []
    for uid, thread in sorted(loaded.threads.items()):
        env = thread.envelope
        if env.state in CLAIMABLE and not thread.live_attempts and env.eligible_at > context.now:
            unfolding = Unfolding.of(thread)
            try:
                decide_requeue(unfolding, RequeueSubject(subject=uid, priority=None, reason="signal"), context)
            except (QueueUnknown, TemplateNotServed):
                continue  # nobody could take it from its queue; it is tried once an operator gives it another
            unfoldings.append(unfolding)
    yield from caller.store.apply(unfoldings)
    return set(subjects) - loaded.threads.keys()
