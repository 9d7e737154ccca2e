"""Token buckets: how often each of many may come (design 06, HTTP API). The generic cell rate algorithm, one number each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

_REMEMBERED = 50_000
_ROUNDING = 1e-6


class Buckets:
    """A bucket for each key: it holds ``burst`` and is filled again with ``per_second``. Memory is bounded.

    ``now`` gives seconds of a clock that never goes back. What is kept of a key is when its bucket will be full again.
    """

    def __init__(self, per_second: float, burst: int, now: Callable[[], float]) -> None:
        self._interval = 1.0 / per_second
        self._tolerance = burst * self._interval
        self._now = now
        self._full_at: OrderedDict[Hashable, float] = OrderedDict()

    def take(self, key: Hashable) -> float:
        """Take one; 0, or the seconds until there is one, and then none was taken."""
        now = self._now()
        full_at = max(self._full_at.get(key, now), now) + self._interval
        wait = full_at - now - self._tolerance
        if wait > _ROUNDING:
            return wait
        self._full_at[key] = full_at
        self._full_at.move_to_end(key)
        if len(self._full_at) > _REMEMBERED:
            self._full_at.popitem(last=False)
        return 0.0

    def give_back(self, key: Hashable) -> None:
        """Undo one ``take``."""
        if key in self._full_at:
            self._full_at[key] -= self._interval
