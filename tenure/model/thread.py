"""A subject's thread and its fold: what the facts say, step by step (design 00, conflict 1).

``evolve`` is the only place that says what a fact does. Decisions append facts and let it work out the state; stores
write what it worked out; ``verify`` folds every thread with it again and compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tenure.model import fact_types as ft
from tenure.model.attempt import Attempt, attempt_of, record_of
from tenure.model.dead_letter import DeadLetter
from tenure.model.envelope import Envelope
from tenure.model.fact import Fact
from tenure.model.hold import Hold
from tenure.model.json_text import from_instant
from tenure.model.queue import RetryPolicy
from tenure.model.requests import BARS
from tenure.model.states import HoldState, HoldStatus, LeaseStatus, RecordStatus, Resolution, State

FOREVER = datetime(9999, 12, 31, tzinfo=UTC)
_TIMES = frozenset({"ready_at", "due_at", "retry_at"})


@dataclass(frozen=True, slots=True)
class SubjectThread:
    """One subject with everything its facts tell: envelope, attempts, holds, dead letters, outputs."""

    envelope: Envelope
    attempts: Mapping[int, Attempt] = field(default_factory=dict)
    holds: Mapping[int, Hold] = field(default_factory=dict)
    dead_letters: Mapping[int, DeadLetter] = field(default_factory=dict)
    outputs: frozenset[tuple[int, int]] = frozenset()
    in_run: bool = field(default=False, compare=False)
    """Whether it stands for a runnable of a run, which learns of its end. No fact of its own tells that."""
    retry: RetryPolicy | None = field(default=None, compare=False)
    """How it is tried again, where that is not for its queue to say."""

    @property
    def live_attempts(self) -> list[Attempt]:
        """The attempts whose lease is ACTIVE, by slot."""
        return sorted((a for a in self.attempts.values() if a.live), key=lambda a: a.slot)

    @property
    def active_holds(self) -> list[Hold]:
        """The holds that stop it, oldest first."""
        return sorted((h for h in self.holds.values() if h.status is HoldStatus.ACTIVE), key=lambda h: h.uid)

    @property
    def open_dead_letter(self) -> DeadLetter | None:
        """The dead letter that waits for an operator, if any."""
        return next((d for d in self.dead_letters.values() if d.resolution_state is Resolution.OPEN), None)


def fold(facts: Iterable[Fact], template: str) -> SubjectThread | None:
    """The thread that ``facts`` (of one subject, in order of seq) add up to; None for no facts."""
    thread: SubjectThread | None = None
    for fact in facts:
        thread = evolve(thread, fact, template)
    return thread


def evolve(thread: SubjectThread | None, fact: Fact, template: str = "") -> SubjectThread:
    """The thread after ``fact``. The first fact of a subject is ``subject.submitted``."""
    data: Mapping[str, Any] = fact.data or {}
    if thread is None:
        if fact.type != ft.SUBMITTED:
            raise ValueError(f"a subject's thread begins with {ft.SUBMITTED}, not {fact.type}")
        thread = SubjectThread(_born(fact, template))
        return replace(thread, envelope=_stamp(thread.envelope, fact, data))
    apply = _APPLY.get(fact.type)
    if apply is None:
        raise ValueError(f"{fact.type} does not belong to a subject's thread")
    before = thread.envelope
    thread = apply(thread, fact, data)
    return replace(thread, envelope=_stamp(thread.envelope, fact, data, before))


def _born(fact: Fact, template: str) -> Envelope:
    total = int((fact.data or {}).get("set", {}).get("slots_total", 1))
    return Envelope(
        uid=fact.thread, tenant=fact.tenant, template=template, created_at=fact.at, state=State.PENDING, revision=0,
        seq=0, slots_total=total, slots_free=total,
    )  # fmt: skip


def _stamp(envelope: Envelope, fact: Fact, data: Mapping[str, Any], before: Envelope | None = None) -> Envelope:
    """What every fact does: state, revision, queue, seq, hash, and the fields that it sets outright."""
    changes: dict[str, Any] = {k: from_instant(v) if k in _TIMES else v for k, v in data.get("set", {}).items()}
    if "hold_state" in changes:
        changes["hold_state"] = HoldState(changes["hold_state"])
    changes |= {name: tuple(changes[name]) for name in BARS if name in changes}
    assert fact.state is not None and fact.revision is not None
    return replace(
        envelope, state=State(fact.state), revision=fact.revision, next_queue_key=fact.queue_key, seq=fact.seq,
        head=fact.hash, **changes,
    )  # fmt: skip


def _with_attempt(thread: SubjectThread, attempt: Attempt, **envelope: Any) -> SubjectThread:
    return replace(
        thread,
        attempts={**thread.attempts, attempt.uid: attempt},
        envelope=replace(thread.envelope, **envelope) if envelope else thread.envelope,
    )


def _attempt(thread: SubjectThread, fact: Fact) -> Attempt:
    assert fact.lease is not None
    return thread.attempts[fact.lease]


def _claimed(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    env = thread.envelope
    assert fact.lease is not None
    ttl = int(data["ttl"])
    attempt = Attempt(
        uid=fact.lease, subject=env.uid, queue_key=fact.queue_key, worker=fact.worker,
        attempt_number=env.attempt_count + 1, record_status=RecordStatus.STARTED, slot=int(data.get("slot", 1)),
        incarnation=int(data.get("incarnation", 1)), ttl_seconds=ttl, claimed_at=fact.at,
        expires_at=fact.at + timedelta(seconds=ttl), started_at=fact.at if data.get("started") else None,
        start_state=env.state, start_revision=env.revision, action_key=env.next_action_key,
    )  # fmt: skip
    return _with_attempt(thread, attempt, slots_free=env.slots_free - 1, last_record=record_of(fact.lease))


def _started(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    attempt = _attempt(thread, fact)
    changes: dict[str, Any] = {"started_at": attempt.started_at or fact.at}
    if (deadline := from_instant(data.get("deadline"))) is not None:
        changes["expires_at"] = deadline
    elif thread.envelope.state is State.WAITING_EXTERNAL:
        # Outside work may last for ever; a worker that goes on with it here must show that it lives.
        changes["expires_at"] = fact.at + timedelta(seconds=attempt.ttl_seconds or 0)
    return _with_attempt(thread, replace(attempt, **changes))


def _dispatched(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    attempt = _attempt(thread, fact)
    return _with_attempt(
        thread,
        replace(
            attempt,
            started_at=attempt.started_at or fact.at,
            external_ref=data.get("external_ref"),
            expires_at=from_instant(data.get("deadline")) or FOREVER,
        ),
    )


def _renewed(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    attempt = replace(_attempt(thread, fact), heartbeat_at=fact.at, expires_at=from_instant(data["expires_at"]))
    return _with_attempt(thread, attempt)


def _end(
    thread: SubjectThread, uid: int, fact: Fact, lease: LeaseStatus, record: RecordStatus, reason: str | None,
    **error: Any,
) -> SubjectThread:  # fmt: skip
    attempt = replace(
        thread.attempts[uid], lease_status=lease, record_status=record, ended_at=fact.at, release_reason=reason,
        end_state=fact.state, end_revision=fact.revision, **error,
    )  # fmt: skip
    freed = 0 if lease is LeaseStatus.COMPLETED else 1
    return _with_attempt(thread, attempt, slots_free=thread.envelope.slots_free + freed)


def _end_others(
    thread: SubjectThread, fact: Fact, data: Mapping[str, Any], lease: LeaseStatus, reason: str
) -> SubjectThread:
    for uid in data.get("ended", ()):
        thread = _end(thread, int(uid), fact, lease, RecordStatus.CANCELED, reason)
    return thread


def _released(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    assert fact.lease is not None
    return _end(thread, fact.lease, fact, LeaseStatus.RELEASED, RecordStatus.CANCELED, data.get("reason"))


def _deferred(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    assert fact.lease is not None
    return _end(thread, fact.lease, fact, LeaseStatus.RELEASED, RecordStatus.CANCELED, "DEFERRED")


def _completed(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    assert fact.lease is not None
    thread = _end(thread, fact.lease, fact, LeaseStatus.COMPLETED, RecordStatus.SUCCEEDED, None)
    outputs = frozenset((record_of(fact.lease), int(uid)) for uid in data.get("outputs", ()))
    env = replace(thread.envelope, slots_done=thread.envelope.slots_done + 1)
    return replace(thread, envelope=env, outputs=thread.outputs | outputs)


def _failed(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    assert fact.lease is not None
    if fact.state is State.CANCELED:
        lease, record = LeaseStatus.CANCELED, RecordStatus.CANCELED
    elif fact.state is State.FAILED_TERMINAL:
        lease, record = LeaseStatus.RELEASED, RecordStatus.FAILED_TERMINAL
    else:
        lease, record = LeaseStatus.RELEASED, RecordStatus.FAILED_RETRYABLE
    error = {"error_class": data["error_class"], "error_code": data.get("error_code")}
    thread = _end(thread, fact.lease, fact, lease, record, "FAILED", **error)
    thread = _end_others(thread, fact, data, LeaseStatus.ABANDONED, "FAILED")
    if "hold" in data:
        thread = _hold(thread, int(data["hold"]), fact, str(data["error_class"]), str(data.get("error_code") or ""))
    return _dead_letter(thread, fact, data, fact.lease, str(data["error_class"]))


def _expired(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    assert fact.lease is not None
    reason = data.get("reason", "HEARTBEAT_TIMEOUT")
    thread = _end(thread, fact.lease, fact, LeaseStatus.EXPIRED, RecordStatus.EXPIRED, reason)
    thread = _end_others(thread, fact, data, LeaseStatus.ABANDONED, "FAILED")
    return _dead_letter(thread, fact, data, fact.lease, "TRANSIENT_SYSTEM")


def _dead_letter(
    thread: SubjectThread, fact: Fact, data: Mapping[str, Any], attempt: int, error_class: str
) -> SubjectThread:
    if "dead_letter" not in data:
        return thread
    letter = DeadLetter(
        uid=int(data["dead_letter"]), subject=fact.thread, queue_key=fact.queue_key, attempt=attempt,
        dead_lettered_at=fact.at, failure_count=int(data.get("set", {}).get("attempt_count", 0)),
        error_class=error_class,
    )  # fmt: skip
    return replace(thread, dead_letters={**thread.dead_letters, letter.uid: letter})


def _resolve(thread: SubjectThread, fact: Fact, data: Mapping[str, Any], resolution: Resolution) -> SubjectThread:
    if "dead_letter" not in data:
        return thread
    letter = replace(
        thread.dead_letters[int(data["dead_letter"])],
        resolution_state=resolution,
        resolved_by=fact.actor,
        resolved_at=fact.at,
    )
    return replace(thread, dead_letters={**thread.dead_letters, letter.uid: letter})


def _hold(thread: SubjectThread, uid: int, fact: Fact, code: str, reason: str) -> SubjectThread:
    hold = Hold(
        uid=uid, subject=fact.thread, hold_code=code, reason=reason, placed_by=fact.actor, placed_at=fact.at,
        queue_key=fact.queue_key, worker=fact.worker,
    )  # fmt: skip
    return replace(thread, holds={**thread.holds, uid: hold})


def _hold_placed(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    thread = _end_others(thread, fact, data, LeaseStatus.ABANDONED, "HELD")
    return _hold(thread, int(data["hold"]), fact, str(data["code"]), str(data["reason"]))


def _release_hold(thread: SubjectThread, uid: int, fact: Fact) -> SubjectThread:
    hold = replace(thread.holds[uid], status=HoldStatus.RELEASED, released_by=fact.actor, released_at=fact.at)
    return replace(thread, holds={**thread.holds, uid: hold})


def _hold_released(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    return _release_hold(thread, int(data["hold"]), fact)


def _requeued(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    before = thread.envelope
    thread = _end_others(thread, fact, data, LeaseStatus.ABANDONED, "REQUEUED")
    thread = _resolve(thread, fact, data, Resolution.REQUEUED)
    if "record" not in data:
        return thread
    uid = attempt_of(int(data["record"]))
    reconciliation = Attempt(
        uid=uid, subject=fact.thread, queue_key=fact.queue_key, worker=None, attempt_number=before.attempt_count + 1,
        record_status=RecordStatus.CANCELED, lease_status=None, started_at=fact.at, ended_at=fact.at,
        release_reason="RECONCILED", start_state=before.state, start_revision=before.revision, end_state=fact.state,
        end_revision=fact.revision, action_key="requeue_subject",
    )  # fmt: skip
    return _with_attempt(thread, reconciliation, last_record=record_of(uid))


def _canceled(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    thread = _end_others(thread, fact, data, LeaseStatus.CANCELED, "CANCELED")
    for hold in thread.active_holds:
        thread = _release_hold(thread, hold.uid, fact)
    return thread


def _resolved(thread: SubjectThread, fact: Fact, data: Mapping[str, Any]) -> SubjectThread:
    return _resolve(thread, fact, data, Resolution(data["resolution"]))


_APPLY = {
    ft.CLAIMED: _claimed,
    ft.STARTED: _started,
    ft.DISPATCHED: _dispatched,
    ft.RENEWED: _renewed,
    ft.RELEASED: _released,
    ft.DEFERRED: _deferred,
    ft.COMPLETED: _completed,
    ft.FAILED: _failed,
    ft.EXPIRED: _expired,
    ft.HOLD_PLACED: _hold_placed,
    ft.HOLD_RELEASED: _hold_released,
    ft.REQUEUED: _requeued,
    ft.CANCELED: _canceled,
    ft.DEAD_LETTER_RESOLVED: _resolved,
}
