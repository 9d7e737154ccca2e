"""Where a claim starts to scan.

While some transaction somewhere stays open, VACUUM cannot remove the index entries of subjects that were taken, and
every claim would wade through them. A dispatcher that is draining a queue therefore starts where its last claim ended,
and looks from the very beginning only now and then: as often as keeps that look below a twentieth of its time. New work
of higher priority waits no longer than that; nothing is ever lost by it, since every short claim is followed by a full one.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from tenure.model.ordering import OrderKey
from tenure.store.records import FEW, Claimed, ScanHint

_SHARE = 20
_SHORTEST, _LONGEST = 0.05, 2.0


class Cursor:
    """What the last claim from one queue tells the next."""

    def __init__(self) -> None:
        self._after: OrderKey | None = None
        self._full_scan_due = 0.0
        self._busy = True

    def portion(self, most: int) -> int:
        """How many to ask for: at first as many as there is room for, later a few of a queue that had no more the last time.

        A claim of few is answered soonest.
        """
        return most if self._busy else min(most, FEW)

    def hint(self, live_after: int) -> ScanHint | None:
        """Where the next claim may start; None for the beginning. ``live_after`` precedes every lease that is held."""
        if self._after is None or time.monotonic() >= self._full_scan_due:
            return None
        return ScanHint(self._after, live_after)

    def note(self, hint: ScanHint | None, taken: Sequence[Claimed], limit: int, seconds: float) -> bool:
        """Learn from a claim that took ``seconds``. True where the queue must be looked at again from its beginning."""
        if hint is None:
            pause = min(max(seconds * _SHARE, _SHORTEST), _LONGEST)
            self._full_scan_due = time.monotonic() + pause
        full = len(taken) == limit
        self._busy = len(taken) >= min(limit, FEW)
        self._after = taken[-1].order if full else None
        return hint is not None and not full
