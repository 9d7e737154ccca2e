"""A subject's thread while a decision is made on it, and what a decision may look at."""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tenure.model.attempt import Attempt
from tenure.model.envelope import Envelope
from tenure.model.errors import (
    Forbidden,
    IdempotencyConflict,
    LeaseExpired,
    NotFound,
    QueueUnknown,
    RevisionConflict,
    SeqConflict,
    StaleLease,
    StateConflict,
    TemplateNotServed,
)  # fmt: skip
from tenure.model.fact import Draft, Fact, check_data
from tenure.model.queue import Queue
from tenure.model.requests import LeaseRequest, Request
from tenure.model.states import LeaseStatus, State
from tenure.model.thread import SubjectThread, evolve
from tenure.model.worker import Worker


@dataclass(slots=True)
class Context:
    """The clock, the actor, fresh uids, and the queues and workers that the decision needs."""

    now: datetime
    actor: str
    uids: Iterator[int]
    queues: Mapping[str, Queue]
    workers: Mapping[int, Worker] = field(default_factory=dict)
    correlation_id: str | None = None
    trace_id: str | None = None

    def queue(self, key: str) -> Queue:
        """The active queue of that key; ``QueueUnknown`` if there is none."""
        queue = self.queues.get(key)
        if queue is None or queue.retired_at is not None:
            raise QueueUnknown(f"There is no queue {key!r}.", "Define it first, or correct the key.", queue_key=key)
        return queue

    def policy(self, key: str | None) -> Queue:
        """The policy that a running attempt was claimed under, also where its queue was retired since."""
        queue = self.queues.get(key or "")
        return queue if queue is not None else self.queue(key or "")

    def serving_queue(self, key: str, template: str) -> Queue:
        """That queue, or ``TemplateNotServed`` where it does not take subjects of the template."""
        queue = self.queue(key)
        if template not in queue.subject_template_codes:
            raise TemplateNotServed(
                f"Queue {key!r} does not serve template {template!r}.",
                f"It serves {', '.join(queue.subject_template_codes)}.",
                queue_key=key,
                template=template,
            )
        return queue


@dataclass(slots=True)
class Unfolding:
    """One thread, its new facts, and the row details that facts do not carry (results, messages, token hashes)."""

    before: SubjectThread
    thread: SubjectThread
    facts: list[Fact] = field(default_factory=list)
    details: dict[int, dict[str, Any]] = field(default_factory=dict)
    replay: Fact | None = None

    @classmethod
    def of(cls, thread: SubjectThread, replay: Fact | None = None) -> Unfolding:
        """Begin with the thread as it stands and the fact that already answers this key, if any."""
        return cls(thread, thread, replay=replay)

    @property
    def envelope(self) -> Envelope:
        """The envelope as the decision stands."""
        return self.thread.envelope

    def append(self, draft: Draft, context: Context, *, at: datetime | None = None) -> Fact:
        """Append a fact: next seq, chained hash, folded at once."""
        check_data(draft.data)
        env = self.envelope
        fact = Fact(
            thread=env.uid, seq=env.seq + 1, type=draft.type, at=at or context.now, tenant=env.tenant,
            actor=context.actor, state=draft.state, revision=draft.revision, queue_key=draft.queue_key,
            lease=draft.lease, worker=draft.worker, data=draft.data or None, idempotency_key=draft.idempotency_key,
            payload_hash=draft.payload_hash, correlation_id=context.correlation_id, trace_id=context.trace_id,
        )  # fmt: skip
        fact.hash = fact.content_hash(env.head)
        self.thread = evolve(self.thread, fact)
        self.facts.append(fact)
        return fact


def replayed(unfolding: Unfolding, request: Request) -> Fact | None:
    """The fact that answered this key before; ``IdempotencyConflict`` if the payload is another."""
    fact = unfolding.replay
    if fact is None:
        return None
    if fact.payload_hash is not None and fact.payload_hash != request.payload_hash():
        raise IdempotencyConflict(
            "This idempotency key was used before with another payload.",
            "Use a new key for a new request, or send the first payload again to get the first answer.",
            idempotency_key=request.idempotency_key,
        )
    return fact


def replayed_to_holder(unfolding: Unfolding, request: LeaseRequest, token_hash: bytes | None) -> Fact | None:
    """The same for a request under a lease, ended or not: only its holder is answered, whatever was asked before."""
    if unfolding.replay is None:
        return None
    _lease_of_holder(unfolding, request, token_hash)
    return replayed(unfolding, request)


def check_guards(envelope: Envelope, request: Request) -> None:
    """``expected_state``, ``expected_revision`` and ``expected_seq`` against what is (S1 section 7.5)."""
    again = "Read the subject again and decide anew."
    if request.expected_state is not None and request.expected_state != envelope.state:
        raise StateConflict(
            f"Expected state {request.expected_state}, but it is {envelope.state}.", again,
            expected=str(request.expected_state), actual=str(envelope.state),
        )  # fmt: skip
    if request.expected_revision is not None and request.expected_revision != envelope.revision:
        raise RevisionConflict(
            f"Expected revision {request.expected_revision}, but it is {envelope.revision}.", again,
            expected=request.expected_revision, actual=envelope.revision,
        )  # fmt: skip
    if request.expected_seq is not None and request.expected_seq != envelope.seq:
        raise SeqConflict(
            f"Expected seq {request.expected_seq}, but the thread has {envelope.seq} facts.", again,
            expected=request.expected_seq, actual=envelope.seq,
        )  # fmt: skip


def held_lease(unfolding: Unfolding, request: LeaseRequest, token_hash: bytes | None, now: datetime) -> Attempt:
    """The live lease that the request proves to hold (design 01, Fencing)."""
    attempt = _lease_of_holder(unfolding, request, token_hash)
    if attempt.lease_status is LeaseStatus.EXPIRED or attempt.expired(now):
        raise LeaseExpired(
            "The lease has expired; the work may be with another worker.",
            "Drop the work: whatever was done under this lease must not be reported as done. Claim again.",
            expires_at=attempt.expires_at.isoformat() if attempt.expires_at else None,
        )
    if attempt.lease_status is not LeaseStatus.ACTIVE:
        raise StaleLease(
            f"The lease has ended already: {attempt.lease_status} ({attempt.release_reason or 'by its holder'}).",
            "Drop the work and claim again.",
            lease_status=str(attempt.lease_status),
        )
    return attempt


def _lease_of_holder(unfolding: Unfolding, request: LeaseRequest, token_hash: bytes | None) -> Attempt:
    attempt = unfolding.thread.attempts.get(request.lease)
    if attempt is None or attempt.lease_status is None:
        raise NotFound("There is no such lease.", "Use the lease's EUID as the claim returned it.")
    if attempt.worker != request.worker or not hmac.compare_digest(token_hash or b"", request.token_hash):
        raise Forbidden(
            "This lease is held by another worker or under another token.",
            "Only the holder may act on a lease; an operator can hold, requeue or cancel the subject instead.",
        )
    return attempt


def state_when_slot_freed(envelope: Envelope) -> State:
    """Where a subject stands when one of its holders lets go: READY, or unchanged where it was never started."""
    return State.READY if envelope.state in (State.RUNNING, State.WAITING_EXTERNAL) else envelope.state
