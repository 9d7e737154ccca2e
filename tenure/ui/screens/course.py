"""How a queue went: depth, age and throughput over time, from its samples."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from tenure.engine import clock
from tenure.engine.caller import Caller
from tenure.sdk import operations as ops
from tenure.store.operation import Op
from tenure.store.records import QueueCounts, QueueSample
from tenure.ui.components.chart import Chart
from tenure.ui.components.choice import Choice
from tenure.ui.components.section import block

POINTS = 240
RANGES = {"1h": timedelta(hours=1), "6h": timedelta(hours=6), "24h": timedelta(hours=24), "7d": timedelta(days=7)}
_WORDS = [["1h", "1 hour"], ["6h", "6 hours"], ["24h", "24 hours"], ["7d", "7 days"]]


class Course:
    """Three charts with one choice of how far they look back."""

    def __init__(self) -> None:
        self.chosen = "1h"

    def read(self, caller: Caller, queue_key: str) -> Op[list[QueueSample]]:
        """The samples to draw."""
        since = (yield from clock.now(caller)) - RANGES[self.chosen]
        return (yield from ops.queue_samples(caller, queue_key, since=since, limit=POINTS))

    def build(self, changed: Any) -> None:
        """Make the charts; ``changed`` is awaited when another range was chosen."""

        async def choose(value: str) -> None:
            if value in RANGES:
                self.chosen = value
                await changed()

        with block("tn-section"):
            with block("tn-section-head"):
                self._choice = Choice(label="Over time", options=_WORDS, value=self.chosen)
                self._choice.when("choose", choose)
            with block("tn-charts"):
                self._depth = Chart(title="Depth", unit="count", series=[])
                self._age = Chart(title="Oldest, minutes", unit="minutes", series=[])
                self._throughput = Chart(title="Per minute", unit="rate", series=[])

    def show(self, samples: Sequence[QueueSample]) -> None:
        """Draw them."""
        self._choice.show(value=self.chosen)
        self._depth.show(series=[_series("waiting", "--tn-teal", samples, _depth)])
        self._age.show(series=[_series("oldest", "--tn-indigo", samples, _minutes)])
        self._throughput.show(
            series=[
                _series("done", "--tn-green", samples, lambda c: c.throughput_success_per_minute),
                _series("failed", "--tn-red", samples, lambda c: c.throughput_failure_per_minute),
            ]
        )


def _series(name: str, colour: str, samples: Sequence[QueueSample], value: Any) -> dict[str, Any]:
    points = [[int(s.at.timestamp() * 1000), round(float(value(s.counts)), 2)] for s in samples]
    return {"name": name, "colour": colour, "points": points}


def _depth(counts: QueueCounts) -> float:
    return counts.queue_depth


def _minutes(counts: QueueCounts) -> float:
    return (counts.oldest_job_age_seconds or 0.0) / 60
