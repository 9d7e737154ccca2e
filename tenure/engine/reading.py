"""Readings that need more than the store: ``why``, ``as_of``, and the standing of one subject (design 01, Reading)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tenure.engine.caller import Caller, Explaining
from tenure.model.errors import InvalidRequest, NotFound
from tenure.model.fact import Fact
from tenure.model.thread import SubjectThread, fold
from tenure.model.visibility import Reason
from tenure.model.why import Situation
from tenure.model.why import why as reasons_for
from tenure.store.operation import Op
from tenure.store.records import History, Subject

_AHEAD = 100_000
_NO_SUBJECT = ("There is no such subject.", "Check its EUID; what belongs to another tenant cannot be seen.")


@dataclass(frozen=True, slots=True)
class Standing:
    """One subject as it stands: data tier, thread, queue and workers, and the exact reasons."""

    subject: Subject
    situation: Situation
    reasons: list[Reason]
    now: datetime


def standing(caller: Caller, subject: int) -> Op[Standing]:
    """The subject with its envelope, live leases, holds, and why it is or is not moving."""
    data = yield from caller.store.subject(caller.tenant, subject)
    situation = yield from caller.store.situation(caller.tenant, subject, _AHEAD)
    if data is None or situation is None:
        raise NotFound(*_NO_SUBJECT)
    now = yield from caller.store.clock()
    reasons = reasons_for(situation, now)
    if not situation.thread.envelope.terminal:
        followers: Sequence[object] = caller.followers
        for follower in followers:
            if isinstance(follower, Explaining):
                reasons += yield from follower.why(caller, situation.thread, situation.workers, now)
    return Standing(data, situation, reasons, now)


def why(caller: Caller, subject: int) -> Op[list[Reason]]:
    """Exact reasons for which the subject is not claimable now, or who could take it."""
    return (yield from standing(caller, subject)).reasons


def history(caller: Caller, subject: int) -> Op[History]:
    """Facts, attempts, holds, dead letters and refusals of one subject, in order."""
    found = yield from caller.store.history(caller.tenant, subject)
    if found is None:
        raise NotFound(*_NO_SUBJECT)
    return found


def as_of(caller: Caller, subject: int, *, seq: int | None = None, at: datetime | None = None) -> Op[SubjectThread]:
    """The thread as it was after fact ``seq``, or at the time ``at``, by the fold of its facts."""
    if (seq is None) == (at is None):
        raise InvalidRequest("as_of needs either a seq or a time.", "Give exactly one of them.")
    found = yield from history(caller, subject)
    chosen: list[Fact] = [
        f for f in found.facts if (seq is not None and f.seq <= seq) or (at is not None and f.at <= at)
    ]
    thread = fold(chosen, found.subject.template)
    if thread is None:
        raise NotFound("The subject did not exist then.", f"It was created at {found.subject.created_at.isoformat()}.")
    return thread
