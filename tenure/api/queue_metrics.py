"""S1's sixteen metrics in Prometheus' text format, by the names of S1 section 9.1, with tenant and queue_key as labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from tenure.store.records import QueueCounts

_LABELS = ("tenant", "queue_key")
_HELP = {
    "queue_depth": "Subjects visible in the queue.",
    "oldest_job_age_seconds": "Age of the visible subject that is eligible the longest.",
    "newest_job_age_seconds": "Age of the visible subject that is eligible the shortest.",
    "active_leases": "Leases that are ACTIVE and have not run out.",
    "expired_leases_total": "Leases that were expired.",
    "retryable_failures_total": "Records FAILED_RETRYABLE.",
    "terminal_failures_total": "Records FAILED_TERMINAL.",
    "throughput_success_per_minute": "Records SUCCEEDED within the window, for each of its minutes.",
    "throughput_failure_per_minute": "Records that failed within the window, for each of its minutes.",
    "failure_rate": "Failures among what ended within the window, 0 to 1.",
    "dead_letter_count": "Dead letters that are OPEN.",
    "held_count": "Subjects that are HELD.",
    "worker_online_count": "Workers that are online and serve the queue.",
    "worker_heartbeat_lag_seconds": "Age of the oldest heartbeat among those workers.",
    "claim_conflict_total": "Claims of a subject that could not be claimed.",
    "idempotent_replay_total": "Requests that were answered from before.",
}


class _Snapshot:
    """Counts as they were read, as a collector."""

    def __init__(self, tenant: str, counts: Sequence[QueueCounts]) -> None:
        self._tenant = tenant
        self._counts = counts

    def collect(self) -> Iterable[Metric]:
        for name in (field.name for field in fields(QueueCounts) if field.name != "queue_key"):
            family: CounterMetricFamily | GaugeMetricFamily
            if name.endswith("_total"):
                family = CounterMetricFamily(name.removesuffix("_total"), _HELP[name], labels=_LABELS)
            else:
                family = GaugeMetricFamily(name, _HELP[name], labels=_LABELS)
            for counts in self._counts:
                value = getattr(counts, name)
                if value is not None:  # an age of nothing is no number
                    family.add_metric([self._tenant, counts.queue_key], value)
            yield family


def exposed(tenant: str, counts: Sequence[QueueCounts]) -> bytes:
    """The counts of a tenant's queues as text."""
    registry = CollectorRegistry()
    registry.register(_Snapshot(tenant, counts))
    return generate_latest(registry)
