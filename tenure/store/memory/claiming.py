"""Claims of the memory store: S1 section 6.2 in the model's own words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from tenure.model import fact_types as ft
from tenure.model.attempt import Attempt
from tenure.model.decisions.claim import decide_claim
from tenure.model.decisions.unfolding import Context, Unfolding
from tenure.model.eligibility import refusal
from tenure.model.ordering import order_key
from tenure.model.queue import Queue
from tenure.model.requests import ClaimItems
from tenure.model.states import LeaseStatus
from tenure.model.thread import SubjectThread, fold
from tenure.model.visibility import is_visible
from tenure.store.memory.room import operation
from tenure.store.memory.working import Working
from tenure.store.records import Claimed, Gate, ScanHint
from tenure.store.tracing import trace_reference

_NOBODY = Gate(allowed=False)


class Claiming(Working):
    """Taking subjects under lease."""

    @operation
    def claim(
        self, tenant: int, request: ClaimItems, actor: str, hint: ScanHint | None, *, past_gate: bool
    ) -> tuple[Gate, list[Claimed]]:
        """See ``Store.claim``. ``hint`` is only that, and unused: the whole queue is looked at."""
        data = self._data
        worker, queue = data.workers.get(request.worker), data.active_queue(tenant, request.queue_key)
        if worker is None or worker.tenant != tenant or queue is None:
            return _NOBODY, []
        held = data.live_leases(worker.uid)
        gate = Gate(
            allowed=refusal(worker, queue, held, request.incarnation) is None,
            lapsed=not past_gate and self._has_lapsed(tenant, queue),
        )
        if not gate.allowed or gate.lapsed:
            return gate, []
        context = Context(
            data.clock(), actor, data.uids, {queue.queue_key: queue}, {worker.uid: worker}, trace_id=trace_reference()
        )
        room = min(request.limit, worker.max_concurrent_leases - held)
        taken = []
        for thread in self._candidates(tenant, request, queue)[:room]:
            unfolding = Unfolding.of(thread)
            fact = decide_claim(unfolding, request, context)
            self._apply(unfolding)
            assert fact.lease is not None
            taken.append(self._claimed(unfolding.thread.attempts[fact.lease]))
        return gate, taken

    @operation
    def claimed_before(self, tenant: int, worker: int, claim_key: str) -> list[tuple[Claimed, bytes | None]]:
        """See ``Store.claimed_before``."""
        data = self._data
        found = [
            (attempt, data.details[attempt.uid])
            for attempt in data.attempts_of(tenant)
            if attempt.worker == worker and data.details[attempt.uid].get("claim_key") == claim_key
        ]
        found.sort(key=lambda pair: pair[0].uid)
        return [(self._claimed(attempt), details.get("claim_hash")) for attempt, details in found]

    @operation
    def claimed(self, leases: Sequence[int]) -> list[Claimed]:
        """See ``Store.claimed``; in order of uid."""
        data = self._data
        known = [uid for uid in sorted(set(leases)) if uid in data.subject_of_attempt]
        return [self._claimed(data.threads[data.subject_of_attempt[uid]].attempts[uid]) for uid in known]

    def _has_lapsed(self, tenant: int, queue: Queue) -> bool:
        now = self._data.clock()
        # By key: a queue that took over the key of a retired one takes over what that one left, too.
        return any(a.expired(now) and a.queue_key == queue.queue_key for a in self._data.attempts_of(tenant))

    def _candidates(self, tenant: int, request: ClaimItems, queue: Queue) -> list[SubjectThread]:
        """What may be taken, in order. A slot whose lease has lapsed is not free before it was expired."""
        now = self._data.clock()
        found = [
            thread
            for thread in self._data.threads_of(tenant)
            if thread.envelope.next_queue_key == queue.queue_key
            and thread.envelope.slots_free > 0
            and request.subject in (None, thread.envelope.uid)
            and not (thread.envelope.shared and _worked_on_by(thread, request.worker))
            and not thread.envelope.bars(self._data.workers[request.worker])
            and is_visible(thread, queue, now)
        ]
        return sorted(found, key=lambda thread: order_key(thread.envelope))

    def _claimed(self, attempt: Attempt) -> Claimed:
        data = self._data
        subject = data.subjects[attempt.subject]
        fact = next(f for f in data.facts[attempt.subject] if f.lease == attempt.uid and f.type == ft.CLAIMED)
        before = fold((f for f in data.facts[attempt.subject] if f.seq < fact.seq), subject.template)
        assert (
            before is not None
            and fact.state is not None
            and fact.revision is not None
            and attempt.ttl_seconds is not None
        )
        assert attempt.claimed_at is not None and attempt.queue_key is not None and attempt.worker is not None
        return Claimed(
            lease=attempt.uid, subject=attempt.subject, queue_key=attempt.queue_key, worker=attempt.worker,
            attempt_number=attempt.attempt_number, state=fact.state, revision=fact.revision, seq=fact.seq,
            slot=attempt.slot, claimed_at=attempt.claimed_at,
            expires_at=attempt.claimed_at + timedelta(seconds=attempt.ttl_seconds), ttl_seconds=attempt.ttl_seconds,
            started=bool((fact.data or {}).get("started")), template=subject.template, name=subject.name,
            external_ref=subject.external_ref, next_action_key=attempt.action_key, priority=before.envelope.priority,
            properties=subject.properties, payload_ref=subject.payload_ref, correlation_id=subject.correlation_id,
        )  # fmt: skip


def _worked_on_by(thread: SubjectThread, worker: int) -> bool:
    """True for a worker that has a slot, or had one and finished: never twice the same (design 01, The actions)."""
    return any(
        attempt.worker == worker and attempt.lease_status in (LeaseStatus.ACTIVE, LeaseStatus.COMPLETED)
        for attempt in thread.attempts.values()
    )
