"""Samples of the counts of queues: what a dashboard shows over time, and what need not be counted anew."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from datetime import datetime

from tenure.store.operation import Op, Statement
from tenure.store.postgres import rows
from tenure.store.postgres.reading import Reading
from tenure.store.records import SAMPLES_KEPT, QueueCounts, QueueSample

_COUNTS = [f.name for f in fields(QueueCounts)]


class Sampling(Reading):
    """The part of the store port that keeps samples."""

    def sample_queues(self, tenant: int, min_interval_seconds: float, window_seconds: float) -> Op[list[QueueSample]]:
        """See ``Store.sample_queues``."""
        return (yield from self.transaction(self._sample(tenant, min_interval_seconds, window_seconds)))

    def _sample(self, tenant: int, min_interval: float, window: float) -> Op[list[QueueSample]]:
        # Two statements: the second one's snapshot is taken with the lock in hand, so it sees the sample made before it.
        if not (yield Statement("sampling_turn", {"tenant": tenant}))[0]["mine"]:
            return []
        turn = (yield Statement("sampling_due", {"tenant": tenant, "min_interval": min_interval}))[0]
        if not turn["due"]:
            return []
        counts = yield from self.counts(tenant, sorted((yield from self.queues(tenant))), window)
        kept = {"tenant": tenant, "at": turn["at"], "window": window, "counts": json.dumps([asdict(c) for c in counts])}
        yield Statement("insert_samples", kept)
        yield Statement("drop_old_samples", {"tenant": tenant, "before": turn["at"] - SAMPLES_KEPT})
        return [QueueSample(turn["at"], window, c) for c in counts]

    def samples(self, tenant: int, queue_key: str, since: datetime, limit_points: int) -> Op[list[QueueSample]]:
        """See ``Store.samples``."""
        params = {"tenant": tenant, "queue_key": queue_key, "since": since, "limit": limit_points}
        return [_sample(row) for row in (yield Statement("samples", params))]

    def latest_counts(self, tenant: int, queue_keys: Sequence[str], max_age_seconds: float) -> Op[list[QueueSample]]:
        """See ``Store.latest_counts``."""
        params = {"tenant": tenant, "queue_keys": list(queue_keys), "max_age": max_age_seconds}
        return [_sample(row) for row in (yield Statement("latest_samples", params))]


def _sample(row: rows.Row) -> QueueSample:
    return QueueSample(row["at"], row["window_seconds"], QueueCounts(**{name: row[name] for name in _COUNTS}))
