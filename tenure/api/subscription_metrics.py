"""How far subscriptions have come, in Prometheus' text format (design 05, Health)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from tenure.ledger.rows import SubscriptionStanding

_LABELS = ("tenant", "subscription")
_GAUGES: dict[str, tuple[str, Callable[[SubscriptionStanding], float]]] = {
    "lag_positions": ("Positions of the ledger between its cursor and the newest.", lambda s: s.behind),
    "oldest_undelivered_seconds": (
        "Age of the oldest event that it has not sent.",
        lambda s: max(0.0, (s.at - s.oldest_at).total_seconds()) if s.oldest_at is not None else 0.0,
    ),
    "waiting_threads": ("Threads that wait for an event to be tried again.", lambda s: s.parked),
    "receiver_failures": ("How often in a row its receiver took nothing.", lambda s: s.failures),
    "dead_letters": ("Events that it gave up, and that nobody has decided on.", lambda s: s.open_dead_letters),
    "enabled": ("1, or 0 where it rests or has stopped.", lambda s: float(s.subscription.enabled)),
}
_COUNTERS: dict[str, tuple[str, Callable[[SubscriptionStanding], float]]] = {
    "deliveries": ("Events that its receiver confirmed.", lambda s: s.delivered),
    "failures": ("Attempts that failed.", lambda s: s.failed),
}


class _Snapshot:
    """Standings as they were read, as a collector."""

    def __init__(self, tenant: str, standings: Sequence[SubscriptionStanding]) -> None:
        self._tenant = tenant
        self._standings = standings

    def collect(self) -> Iterable[Metric]:
        for kind, metrics in ((GaugeMetricFamily, _GAUGES), (CounterMetricFamily, _COUNTERS)):
            for name, (help_text, value) in metrics.items():
                family = kind(f"tenure_subscription_{name}", help_text, labels=_LABELS)
                for standing in self._standings:
                    family.add_metric([self._tenant, standing.subscription.name], value(standing))
                yield family


def told(tenant: str, standings: Sequence[SubscriptionStanding]) -> bytes:
    """The metrics of a tenant's subscriptions as text."""
    registry = CollectorRegistry()
    registry.register(_Snapshot(tenant, standings))
    return generate_latest(registry)
