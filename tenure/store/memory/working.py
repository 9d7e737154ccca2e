"""Loading threads, applying what decisions made of them, and what is kept beside: the work of the memory store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tenure.model.attempt import Attempt, attempt_of
from tenure.model.decisions.unfolding import Unfolding
from tenure.model.errors import NotFound, SeqConflict
from tenure.model.fact import Fact
from tenure.model.result import ActionResult
from tenure.model.states import CLAIMABLE
from tenure.model.thread import SubjectThread
from tenure.store.memory.room import Room, operation
from tenure.store.records import Finish, Loaded, RefusalRow, Refused, Target


class Working(Room):
    """What actions do with threads. Locks are moot: whoever is within an operation has the whole store."""

    @operation
    def load(
        self, tenant: int, targets: Sequence[Target], queue_keys: Iterable[str] = (), workers: Iterable[int] = (),
        *, skip_locked: bool = False,
    ) -> Loaded:  # fmt: skip
        """See ``Store.load``. With the queues that the threads stand before or were claimed from, and the holders."""
        data = self._data
        leases = {attempt_of(t.lease) for t in targets if t.lease is not None}
        of_lease = {uid: data.subject_of_attempt[uid] for uid in sorted(leases) if uid in data.subject_of_attempt}
        of_lease = {lease: s for lease, s in of_lease.items() if data.threads[s].envelope.tenant == tenant}
        wanted = {t.subject for t in targets if t.subject is not None} | set(of_lease.values())
        threads = {
            uid: data.threads[uid]
            for uid in sorted(wanted)
            if uid in data.threads and data.threads[uid].envelope.tenant == tenant
        }
        replays: dict[int, Fact] = {}
        for index, target in enumerate(targets):
            uid = target.subject if target.subject is not None else of_lease.get(attempt_of(target.lease or 0))
            if uid in threads and (fact := self._answer(uid, target)):
                replays[index] = fact
        keys = set(queue_keys) | {key for thread in threads.values() for key in _queue_keys(thread)}
        found = {key: data.queue_of(tenant, key) for key in sorted(keys)}
        attempts = [attempt for thread in threads.values() for attempt in thread.attempts.values()]
        holders = set(workers) | {a.worker for a in attempts if a.worker is not None}
        return Loaded(
            now=data.clock(),
            threads=threads,
            subject_of_lease=of_lease,
            token_hashes={
                attempt.uid: data.details[attempt.uid]["token_hash"]
                for attempt in attempts
                if attempt.lease_status is not None
            },
            replays=replays,
            queues={key: queue for key, queue in found.items() if queue is not None},
            workers={w: known for w in sorted(holders) if (known := data.workers.get(w)) and known.tenant == tenant},
            uids=data.uids,
        )

    @operation
    def apply(self, unfoldings: Sequence[Unfolding]) -> None:
        """See ``Store.apply``; ``SeqConflict`` for a thread that has grown since it was loaded."""
        for unfolding in unfoldings:
            self._apply(unfolding)

    @operation
    def live_leases(self, worker: int) -> int:
        """See ``Store.live_leases``."""
        return self._data.live_leases(worker)

    @operation
    def promote(self, tenant: int, queue_key: str, limit: int) -> int:
        """See ``Store.promote``. Nothing is ever deferred here: a claim looks at the clock itself."""
        return 0

    @operation
    def lapsed(self, tenant: int, queue_key: str | None, limit: int) -> list[int]:
        """See ``Store.lapsed``."""
        data, now = self._data, self._data.clock()
        found = [
            (a.expires_at, a.uid)
            for a in data.attempts_of(tenant)
            if a.expired(now) and (queue_key is None or a.queue_key == queue_key)
        ]
        return [uid for _, uid in sorted(found, key=lambda pair: (pair[0] or now, pair[1]))[:limit]]

    @operation
    def next_due(self, tenant: int, queue_keys: Sequence[str]) -> float | None:
        """See ``Store.next_due``."""
        data, now = self._data, self._data.clock()
        queues = {q.uid: q.queue_key for key in queue_keys if (q := data.active_queue(tenant, key)) is not None}
        waiting = [
            thread.envelope.eligible_at
            for thread in data.threads_of(tenant)
            if thread.envelope.state in CLAIMABLE
            and thread.envelope.next_queue_key in queues.values()
            and thread.envelope.eligible_at > now
        ]
        leased = [a.expires_at for a in data.attempts_of(tenant) if a.live and data.queue_uid(a) in queues]
        moments = [moment for moment in (*waiting, *leased) if moment is not None]
        return (min(moments) - now).total_seconds() if moments else None

    @operation
    def complete_plain(self, tenant: int, worker: int, actor: str, items: Sequence[Finish]) -> dict[int, ActionResult]:
        """Nothing is plain here: everything is left for ``load``, ``decide_complete`` and ``apply``."""
        return {}

    @operation
    def renew_plain(
        self, tenant: int, worker: int, incarnation: int, actor: str, leases: Sequence[tuple[int, bytes]],
        ttl_seconds: int | None,
    ) -> dict[int, ActionResult]:  # fmt: skip
        """Nothing is plain here: everything is left for ``load``, ``decide_renew`` and ``apply``."""
        return {}

    @operation
    def refuse(self, tenant: int, refusals: Sequence[Refused]) -> None:
        """See ``Store.refuse``."""
        now = self._data.clock()
        for refused in refusals:
            self._data.refusals.add((tenant, RefusalRow(now, refused)))

    def _answer(self, uid: int, target: Target) -> Fact | None:
        lease = attempt_of(target.lease) if target.lease is not None else None
        for fact in self._data.facts[uid]:
            if fact.type not in target.types or fact.idempotency_key != target.idempotency_key:
                continue
            if target.idempotency_key is not None or (lease is not None and fact.lease == lease):
                return fact
        return None

    def _apply(self, unfolding: Unfolding) -> None:
        data, uid = self._data, unfolding.before.envelope.uid
        stored = data.threads.get(uid)
        if stored is None:
            raise NotFound("There is no such subject.", "Submit it first.")
        if stored.envelope.seq != unfolding.before.envelope.seq:
            raise SeqConflict(
                "The thread has grown since it was read.", "Read the subject again and decide anew.",
                expected=unfolding.before.envelope.seq, actual=stored.envelope.seq,
            )  # fmt: skip
        data.threads.put(uid, unfolding.thread)
        for fact in unfolding.facts:
            data.tell(fact)
        for attempt in unfolding.thread.attempts.values():
            if attempt != unfolding.before.attempts.get(attempt.uid):
                self._keep_details(attempt, stored.envelope.tenant, unfolding.details.get(attempt.uid, {}))

    def _keep_details(self, attempt: Attempt, tenant: int, details: Mapping[str, Any]) -> None:
        data = self._data
        if attempt.uid not in data.subject_of_attempt:
            queue = data.queue_of(tenant, attempt.queue_key)
            data.subject_of_attempt.put(attempt.uid, attempt.subject)
            data.details.put(attempt.uid, {"queue": queue.uid if queue is not None else None})
        told = {key: value for key, value in details.items() if value is not None}
        data.details.put(attempt.uid, {**data.details[attempt.uid], **told})


def _queue_keys(thread: SubjectThread) -> set[str]:
    keys = {thread.envelope.next_queue_key, *(a.queue_key for a in thread.attempts.values())}
    return {key for key in keys if key is not None}
