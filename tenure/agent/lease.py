"""Until when this agent is the node, as the server said: only then may it submit (decision 19)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def seconds_of_host() -> float:
    """A clock that nobody sets, and that goes on while the machine sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class NodeLease:
    """Shared by the agent's threads. Before the first answer to a poll nothing may be submitted: another agent, which works in
    another folder, may be the node.
    """

    def __init__(self, changed: Callable[[], None], clock: Callable[[], float] = seconds_of_host) -> None:
        self._changed, self._clock = changed, clock
        self._lock = threading.Lock()
        self._until = float("-inf")

    def now(self) -> float:
        """The time, to be taken before a poll is sent."""
        return self._clock()

    def confirmed(self, asked_at: float, seconds: float | None) -> None:
        """The poll of that time was answered: for so many seconds after it (None: for ever) this agent is the node."""
        with self._lock:
            held = self._holds()
            self._until = float("inf") if seconds is None else asked_at + seconds
            regained = self._holds() and not held
        if regained:
            self._changed()

    def holds(self) -> bool:
        """Whether this agent may submit now."""
        with self._lock:
            return self._holds()

    def _holds(self) -> bool:
        return self._clock() < self._until
