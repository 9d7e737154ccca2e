"""The 16 metrics of S1 section 9.1 over the memory store; what each means is said at ``records.QueueCounts``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from tenure.model.eligibility import serves, takes_claims
from tenure.model.queue import Queue
from tenure.model.states import LeaseStatus, RecordStatus, Resolution, State
from tenure.model.visibility import eligible_since
from tenure.store.memory.reading import Reading
from tenure.store.memory.room import operation
from tenure.store.records import QueueCounts

_FAILURES = (RecordStatus.FAILED_RETRYABLE, RecordStatus.FAILED_TERMINAL)


class Counting(Reading):
    """Counts of queues."""

    @operation
    def counts(self, tenant: int, queue_keys: Sequence[str], window_seconds: float) -> list[QueueCounts]:
        """See ``Store.counts``; one for each key that an active queue has, in the order asked for."""
        queues = (self._data.active_queue(tenant, key) for key in queue_keys)
        return [self._count(tenant, queue, window_seconds) for queue in queues if queue is not None]

    def _count(self, tenant: int, queue: Queue, window_seconds: float) -> QueueCounts:
        data, now = self._data, self._data.clock()
        ages = [(now - eligible_since(thread, now)).total_seconds() for _, thread in self._visible(tenant, queue)]
        attempts = [a for a in data.attempts_of(tenant) if data.queue_uid(a) == queue.uid]
        records = Counter(a.record_status for a in attempts)
        since = now - timedelta(seconds=window_seconds)
        recent = Counter(a.record_status for a in attempts if a.ended_at is not None and a.ended_at > since)
        succeeded, failed = recent[RecordStatus.SUCCEEDED], sum(recent[status] for status in _FAILURES)
        threads = list(data.threads_of(tenant))
        workers = [w for w in data.workers.values() if w.tenant == tenant and takes_claims(w, now) and serves(w, queue)]
        refusals = Counter(
            (row.refused.code, row.refused.action)
            for owner, row in data.refusals
            if owner == tenant and row.refused.queue_key == queue.queue_key
        )
        return QueueCounts(
            queue_key=queue.queue_key,
            queue_depth=len(ages),
            oldest_job_age_seconds=max(ages, default=None),
            newest_job_age_seconds=min(ages, default=None),
            active_leases=sum(a.live and not a.expired(now) for a in attempts),
            expired_leases_total=sum(a.lease_status is LeaseStatus.EXPIRED for a in attempts),
            retryable_failures_total=records[RecordStatus.FAILED_RETRYABLE],
            terminal_failures_total=records[RecordStatus.FAILED_TERMINAL],
            throughput_success_per_minute=succeeded * 60 / window_seconds,
            throughput_failure_per_minute=failed * 60 / window_seconds,
            failure_rate=failed / (succeeded + failed) if succeeded + failed else 0.0,
            dead_letter_count=sum(
                letter.resolution_state is Resolution.OPEN and letter.queue_key == queue.queue_key
                for thread in threads
                for letter in thread.dead_letters.values()
            ),
            held_count=sum(
                t.envelope.state is State.HELD and t.envelope.next_queue_key == queue.queue_key for t in threads
            ),
            worker_online_count=len(workers),
            worker_heartbeat_lag_seconds=max(((now - w.heartbeat_at).total_seconds() for w in workers), default=None),
            claim_conflict_total=refusals["not_claimable", "claim_queue_item"],
            idempotent_replay_total=sum(n for (code, _), n in refusals.items() if code == "idempotent_replay"),
        )
