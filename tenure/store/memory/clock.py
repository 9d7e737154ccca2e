"""A clock that stands still until it is moved: time as tests want it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class StandingClock:
    """Call it for the time; ``advance`` moves it by seconds, ``now`` may be set outright."""

    def __init__(self, now: datetime = datetime(2026, 1, 5, 12, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The time it stands at."""
        return self.now

    def advance(self, seconds: float) -> datetime:
        """Move the time by so many seconds; the new time."""
        self.now += timedelta(seconds=seconds)
        return self.now
