"""A clock that stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


class MovableClock:
    """Pass it as ``clock=`` to a client: the database then takes its time for now. It only moves forward.

    It starts at the present moment, so that times which the code under test takes from elsewhere fit to it.
    """

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start if start is not None else datetime.now(UTC).replace(microsecond=0)

    def __call__(self) -> datetime:
        """The present moment, aware."""
        return self._now

    def now(self) -> datetime:
        """The present moment, aware."""
        return self._now

    def advance(self, *, seconds: float = 0, minutes: float = 0, hours: float = 0, days: float = 0) -> datetime:
        """Move forward by that much; the new moment."""
        step = timedelta(seconds=seconds, minutes=minutes, hours=hours, days=days)
        if step < timedelta(0):
            raise ValueError("A clock does not go back.")
        self._now += step
        return self._now
