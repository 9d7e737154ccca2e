"""Samples of the counts of queues over the memory store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import floor

from tenure.store.memory.counting import Counting
from tenure.store.memory.room import operation
from tenure.store.records import SAMPLES_KEPT, QueueSample


class Sampling(Counting):
    """Samples, kept in order of time."""

    @operation
    def sample_queues(self, tenant: int, min_interval_seconds: float, window_seconds: float) -> list[QueueSample]:
        """See ``Store.sample_queues``."""
        now, taken = self._data.clock(), self._data.samples.get(tenant, ())
        since = now - timedelta(seconds=min_interval_seconds)
        if any(since < sample.at <= now for sample in taken):
            return []
        queues = [q for q in self._data.queues.values() if q.tenant == tenant and q.retired_at is None]
        made = [
            QueueSample(now, window_seconds, self._count(tenant, queue, window_seconds))
            for queue in sorted(queues, key=lambda q: q.queue_key)
        ]
        here = {(sample.at, sample.counts.queue_key) for sample in taken}
        new = [sample for sample in made if (sample.at, sample.counts.queue_key) not in here]
        kept = [sample for sample in taken if sample.at >= now - SAMPLES_KEPT]
        self._data.samples.put(tenant, (*kept, *new))
        return made

    @operation
    def samples(self, tenant: int, queue_key: str, since: datetime, limit_points: int) -> list[QueueSample]:
        """See ``Store.samples``."""
        now = self._data.clock()
        last: dict[int, QueueSample] = {}
        for sample in sorted(self._data.samples.get(tenant, ()), key=lambda s: s.at):
            if sample.counts.queue_key == queue_key and since <= sample.at <= now and since < now:
                span = (now - since).total_seconds() / limit_points
                last[min(limit_points - 1, floor((sample.at - since).total_seconds() / span))] = sample
        return [last[number] for number in sorted(last)]

    @operation
    def latest_counts(self, tenant: int, queue_keys: Sequence[str], max_age_seconds: float) -> list[QueueSample]:
        """See ``Store.latest_counts``."""
        now = self._data.clock()
        found = []
        for key in queue_keys:
            queue = self._data.active_queue(tenant, key)
            if queue is not None:
                since = max(queue.created_at or now, now - timedelta(seconds=max_age_seconds))
                fresh = [
                    sample
                    for sample in self._data.samples.get(tenant, ())
                    if sample.counts.queue_key == key and since <= sample.at <= now
                ]
                found += sorted(fresh, key=lambda sample: sample.at)[-1:]
        return found
