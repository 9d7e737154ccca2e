"""What a client can read about how a queue does, counted now or from samples, written once as operations (S1 sections 9 and 10)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from tenure.engine.caller import Caller
from tenure.model.errors import NaiveDatetime
from tenure.sdk.reading import at_least_one
from tenure.store.operation import Op
from tenure.store.records import QueueCounts, QueueSample


def metrics(
    caller: Caller, /, queue_keys: Sequence[str] | None = None, *, window_seconds: float = 300
) -> Op[list[QueueCounts]]:
    """S1's 16 metrics for each queue."""
    keys = list(queue_keys) if queue_keys is not None else sorted((yield from caller.store.queues(caller.tenant)))
    return (yield from caller.store.counts(caller.tenant, keys, window_seconds))


def sample_queues(
    caller: Caller, /, *, min_interval_seconds: float = 60, window_seconds: float = 300
) -> Op[list[QueueSample]]:
    """Count all queues and keep the counts for 7 days, unless that was done within the interval: then nothing.

    Call it as often as you like, from any number of processes: one of them samples.
    """
    return caller.store.sample_queues(caller.tenant, min_interval_seconds, window_seconds)


def queue_samples(caller: Caller, /, queue_key: str, *, since: datetime, limit: int = 500) -> Op[list[QueueSample]]:
    """The samples of a queue since a time, in order, thinned evenly where there are more than ``limit``."""
    at_least_one(limit)
    if since.tzinfo is None:
        raise NaiveDatetime("since has no time zone.", "Give an aware datetime, such as datetime.now(UTC).")
    return caller.store.samples(caller.tenant, queue_key, since, limit)


def latest_metrics(
    caller: Caller, /, queue_keys: Sequence[str] | None = None, *, max_age_seconds: float = 60, window_seconds: float = 300
) -> Op[list[QueueSample]]:  # fmt: skip
    """S1's 16 metrics for each queue, from samples that are at most so old; counted now where there is none."""
    keys = list(queue_keys) if queue_keys is not None else sorted((yield from caller.store.queues(caller.tenant)))
    fresh = {
        s.counts.queue_key: s for s in (yield from caller.store.latest_counts(caller.tenant, keys, max_age_seconds))
    }
    missing = [key for key in keys if key not in fresh]
    if missing:
        now = yield from caller.store.clock()
        for counts in (yield from caller.store.counts(caller.tenant, missing, window_seconds)):
            fresh[counts.queue_key] = QueueSample(now, window_seconds, counts)
    return [fresh[key] for key in keys if key in fresh]
