"""Limits that are narrower than the worker's own: what may not go on yet waits without taking anybody's place."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenure.sdk.worker.holding import Held


class Gate:
    """Lets at most ``limit`` through at once; the others wait in the order in which they came."""

    __slots__ = ("inside", "limit", "waiting")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.inside = 0
        self.waiting: deque[Held] = deque()

    def enter(self, held: Held) -> bool:
        """True where it may go on; else it waits for ``leave`` of another."""
        if self.inside < self.limit:
            self.inside += 1
            return True
        self.waiting.append(held)
        return False

    def leave(self) -> Held | None:
        """One is through; the next that waited goes in, and is returned."""
        if self.waiting:
            return self.waiting.popleft()
        self.inside -= 1
        return None

    @property
    def unused(self) -> bool:
        """True where nobody is inside, so nobody waits."""
        return self.inside == 0
