"""One subject before one queue, two workers and an operator: what most tests of the model begin with."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tenure.model import fact_types as ft
from tenure.model.attempt import Attempt
from tenure.model.decisions.cancel import decide_cancel
from tenure.model.decisions.claim import decide_claim
from tenure.model.decisions.complete import decide_complete
from tenure.model.decisions.dispatch import decide_dispatch
from tenure.model.decisions.expire import decide_expire
from tenure.model.decisions.fail import decide_fail
from tenure.model.decisions.hold import decide_hold, decide_release_hold
from tenure.model.decisions.release import decide_defer, decide_release
from tenure.model.decisions.renew import decide_renew
from tenure.model.decisions.requeue import decide_requeue
from tenure.model.decisions.resolve import decide_resolve
from tenure.model.decisions.start import decide_start
from tenure.model.decisions.unfolding import Context, Unfolding
from tenure.model.envelope import Envelope
from tenure.model.fact import Fact
from tenure.model.queue import Queue
from tenure.model.requests import (
    CancelSubject,
    ClaimItems,
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    FailExecution,
    PlaceHold,
    ReleaseHold,
    ReleaseLease,
    RenewLease,
    Request,
    RequeueSubject,
    ResolveDeadLetter,
    StartExecution,
    SubmitSubject,
)  # fmt: skip
from tenure.model.states import State
from tenure.model.thread import SubjectThread, evolve
from tenure.model.visibility import Reason, obstacles
from tenure.model.worker import Worker

T0 = datetime(2026, 1, 5, 12, tzinfo=UTC)
TEMPLATE = "task/job/1.0"
SUBJECT = 1024
A, B, C = 2, 4, 6


def token_of(worker: int) -> bytes:
    """The token hash under which a worker claims."""
    return bytes([worker]) * 32


def queue(key: str = "q", **policy: Any) -> Queue:
    """A queue with a lease of 60 seconds, three attempts and a constant back-off of 10 seconds."""
    values: dict[str, Any] = {
        "queue_key": key,
        "uid": 10,
        "tenant": 1,
        "lease_ttl_seconds": 60,
        "max_attempts_default": 3,
        "retry_policy": {"mode": "CONSTANT", "initial_delay_seconds": 10},
    }
    return Queue(**values | policy)


def worker(uid: int = A, **spec: Any) -> Worker:
    """An online worker."""
    return Worker(**{"worker_key": f"w{uid}", "uid": uid, "tenant": 1, "heartbeat_at": T0} | spec)


class Scene:
    """A submitted subject and the facts of its thread; each method is one decision on it at ``now``."""

    def __init__(self, policy: dict[str, Any] | None = None, **submission: Any) -> None:
        self.now = T0
        self.uids = itertools.count(SUBJECT, 2)
        self.queues = {"q": queue(**policy or {}), "next": queue("next")}
        self.workers = {uid: worker(uid) for uid in (A, B, C)}
        request = SubmitSubject(**{"queue_key": "q"} | submission)
        fact = Fact(
            thread=next(self.uids), seq=1, type=ft.SUBMITTED, at=self.now, tenant=1, actor="submitter",
            state=State.READY if request.ready else State.PENDING, revision=1, queue_key=request.queue_key,
            data=request.born_with(), idempotency_key=request.idempotency_key, payload_hash=request.payload_hash(),
        )  # fmt: skip
        fact = replace(fact, hash=fact.content_hash(b""))
        self.facts = [fact]
        self.thread: SubjectThread = evolve(None, fact, request.template)
        self.details: dict[int, dict[str, Any]] = {}

    # What tests look at
    @property
    def envelope(self) -> Envelope:
        return self.thread.envelope

    @property
    def state(self) -> State:
        return self.thread.envelope.state

    @property
    def attempt(self) -> Attempt:
        """The newest attempt."""
        return self.thread.attempts[max(self.thread.attempts)]

    def lease_of(self, holder: int) -> Attempt:
        """The newest attempt of a worker."""
        return max((a for a in self.thread.attempts.values() if a.worker == holder), key=lambda a: a.uid)

    def why(self) -> list[Reason]:
        """The obstacles now."""
        return obstacles(self.thread, self.queues.get(self.envelope.next_queue_key or ""), self.now)

    def context(self) -> Context:
        return Context(self.now, "tester", self.uids, self.queues, self.workers)

    def wait(self, seconds: float) -> Scene:
        self.now += timedelta(seconds=seconds)
        return self

    # What happens
    def claim(self, holder: int = A, **values: Any) -> Fact:
        request = ClaimItems(
            **{
                "worker": holder,
                "queue_key": self.envelope.next_queue_key,
                "token_hash": token_of(holder),
                "start": True,
            }
            | values
        )
        return self._decide((), request, lambda u: decide_claim(u, request, self.context()))

    def start(self, holder: int = A, **values: Any) -> Fact:
        return self._by_holder(holder, StartExecution, decide_start, (ft.STARTED,), values)

    def dispatch(self, holder: int = A, **values: Any) -> Fact:
        return self._by_holder(holder, DispatchExternal, decide_dispatch, (ft.DISPATCHED,), values)

    def renew(self, holder: int = A, **values: Any) -> Fact:
        return self._by_holder(holder, RenewLease, decide_renew, (), values)

    def release(self, holder: int = A, **values: Any) -> Fact:
        return self._by_holder(holder, ReleaseLease, decide_release, (ft.RELEASED,), values)

    def defer(self, holder: int = A, **values: Any) -> Fact:
        return self._by_holder(holder, DeferExecution, decide_defer, (ft.DEFERRED,), values)

    def complete(self, holder: int = A, **values: Any) -> Fact:
        return self._by_holder(holder, CompleteExecution, decide_complete, (ft.COMPLETED,), values)

    def fail(self, holder: int = A, **values: Any) -> Fact:
        return self._by_holder(holder, FailExecution, decide_fail, (ft.FAILED,), values)

    def hold(self, **values: Any) -> Fact:
        request = PlaceHold(**{"subject": SUBJECT, "reason": "looks odd"} | values)
        return self._decide((ft.HOLD_PLACED,), request, lambda u: decide_hold(u, request, self.context()))

    def release_hold(self, **values: Any) -> Fact:
        request = ReleaseHold(**{"subject": SUBJECT} | values)
        return self._decide((ft.HOLD_RELEASED,), request, lambda u: decide_release_hold(u, request, self.context()))

    def requeue(self, **values: Any) -> Fact:
        request = RequeueSubject(**{"subject": SUBJECT} | values)
        return self._decide((ft.REQUEUED,), request, lambda u: decide_requeue(u, request, self.context()))

    def cancel(self, **values: Any) -> Fact:
        request = CancelSubject(**{"subject": SUBJECT} | values)
        return self._decide((ft.CANCELED,), request, lambda u: decide_cancel(u, request, self.context()))

    def resolve(self, **values: Any) -> Fact:
        request = ResolveDeadLetter(**{"subject": SUBJECT, "reason": "not worth it"} | values)
        return self._decide((ft.DEAD_LETTER_RESOLVED,), request, lambda u: decide_resolve(u, request, self.context()))

    def expire(self, holder: int = A, reason: str | None = None) -> Fact:
        attempt = self.lease_of(holder)
        return self._decide((), Request(), lambda u: decide_expire(u, attempt, self.context(), reason))

    def _by_holder(
        self, holder: int, kind: Callable[..., Any], decide: Callable[..., Fact], types: tuple[str, ...],
        values: dict[str, Any],
    ) -> Fact:  # fmt: skip
        if "lease" not in values:
            values = {"lease": self.lease_of(holder).uid} | values
        request = kind(**{"worker": holder, "token_hash": token_of(holder)} | values)
        owner = self.thread.attempts.get(request.lease)
        stored = token_of(owner.worker) if owner is not None and owner.worker is not None else None
        return self._decide(types, request, lambda u: decide(u, request, self.context(), stored), request.lease)

    def _decide(
        self, types: tuple[str, ...], request: Request, decide: Callable[[Unfolding], Fact], lease: int | None = None
    ) -> Fact:
        unfolding = Unfolding.of(self.thread, self._answer(types, request.idempotency_key, lease))
        fact = decide(unfolding)
        self.thread = unfolding.thread
        self.facts += unfolding.facts
        self.details |= unfolding.details
        return fact

    def _answer(self, types: tuple[str, ...], key: str | None, lease: int | None) -> Fact | None:
        found = (f for f in self.facts if f.type in types and f.idempotency_key == key)
        return next((f for f in found if key is not None or (lease is not None and f.lease == lease)), None)
