"""Runs both in turn, several times, and keeps the medians and their ratios."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import median, quantiles

from tenure.bench.bare_queue import BareQueue
from tenure.bench.loaded import Loaded

_BULK = 1000
_PAUSE = 0.005

Tell = Callable[[str], None]


@dataclass(slots=True)
class Measured:
    """One measure: what bare SQL did and what Tenure did, in each round. Rates in jobs/s, latencies in milliseconds."""

    name: str
    unit: str
    bare: list[float] = field(default_factory=list)
    tenure: list[float] = field(default_factory=list)

    @property
    def ratio(self) -> float:
        """Tenure's median over bare SQL's."""
        return median(self.tenure) / median(self.bare)


def measure(dsn: str, *, jobs: int, rounds: int, singles: int, pings: int, tell: Tell) -> list[Measured]:
    """Measure in the (fresh) database behind ``dsn``; ``tell`` hears what is under way."""
    bulk, single = Measured("submit in bulk", "jobs/s"), Measured("submit one by one", "jobs/s")
    drain = Measured("drain, 1 worker process", "jobs/s")
    middle, slow = Measured("submit to start, p50", "ms"), Measured("submit to start, p99", "ms")
    bare, loaded = BareQueue(dsn), Loaded(dsn)
    try:
        for number in range(1, rounds + 1):
            for side, target in _in_turn(number, bare, loaded):
                tell(f"round {number} of {rounds}: {side}")
                if isinstance(target, BareQueue):
                    target.fresh()
                into = [getattr(m, side) for m in (bulk, single, drain, middle, slow)]
                into[0].append(_rate(jobs, lambda t=target: t.submit(jobs, _BULK)))  # type: ignore[misc]
                into[1].append(_rate(singles, lambda t=target: t.submit_one_by_one(singles)))  # type: ignore[misc]
                into[2].append(_rate(jobs + singles, target.drain))
                spent = [seconds * 1000 for seconds in target.latencies(pings, _PAUSE)]
                cuts = quantiles(spent, n=100, method="inclusive")
                into[3].append(cuts[49])
                into[4].append(cuts[98])
    finally:
        bare.close()
        loaded.close()
    return [drain, bulk, single, middle, slow]


def _in_turn(number: int, bare: BareQueue, loaded: Loaded) -> Iterator[tuple[str, BareQueue | Loaded]]:
    """Who goes first changes with each round, so that a server that warms up or tires favours nobody."""
    both: list[tuple[str, BareQueue | Loaded]] = [("bare", bare), ("tenure", loaded)]
    yield from both if number % 2 else reversed(both)


def _rate(jobs: int, run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return jobs / (time.perf_counter() - begin)
