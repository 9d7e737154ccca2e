"""Who waits for work: one line for each queue, in which those who came first are woken first.

A hint that there may be work wakes the first of the line. Whoever then takes something wakes the next two, because there
may be more; whoever takes nothing goes to the end of the line. So a hint costs one claim that finds nothing at most, many
subjects at once are taken by many, and nobody wakes for nothing (design 06, HTTP API).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

Queue = tuple[int, str]
"""Tenant and queue_key."""
_PASSED_ON_TO = 2


class Place:
    """One waiting request. ``woken`` is set when it is to look for work."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.woken = asyncio.Event()

    def rest(self) -> None:
        """Take a place at the end of the line: there was nothing to take."""
        if not self.woken.is_set():
            self._line.resting[self] = None

    def pass_on(self) -> None:
        """Wake those who come next: there may be more, or this one leaves without having looked."""
        for _ in range(_PASSED_ON_TO):
            self._line.wake_one()


class Line:
    """The line of one queue. Dicts keep the order of insertion, and are left from the middle."""

    def __init__(self) -> None:
        self.places: dict[Place, None] = {}
        self.resting: dict[Place, None] = {}

    def wake_one(self) -> bool:
        """Wake the first that rests; else tell one that looks right now to look once more. False where nobody is."""
        for place in self.resting:
            del self.resting[place]
            place.woken.set()
            return True
        for place in self.places:
            if not place.woken.is_set():
                place.woken.set()
                return True
        return False


class Lines:
    """The lines of a server."""

    def __init__(self) -> None:
        self._lines: dict[Queue, Line] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return sum(len(line.places) for line in self._lines.values())

    @property
    def queues(self) -> list[Queue]:
        """The queues that somebody waits for."""
        return list(self._lines)

    @contextmanager
    def place(self, queue: Queue) -> Iterator[Place]:
        """A place in the line of a queue; it is taken before the first look, so that no hint is missed."""
        line = self._lines.get(queue)
        if line is None:
            line = self._lines[queue] = Line()
            self._changed.set()
        place = Place(line)
        line.places[place] = None
        try:
            yield place
        finally:
            del line.places[place]
            if line.resting.pop(place, place) is place and place.woken.is_set():
                line.wake_one()  # woken, and gone before it looked
            if not line.places:
                del self._lines[queue]

    def hint(self, queue: Queue) -> None:
        """There may be work in the queue."""
        if (line := self._lines.get(queue)) is not None:
            line.wake_one()

    def hint_all(self) -> None:
        """There may be work anywhere: wake the first of each line."""
        for line in self._lines.values():
            line.wake_one()

    async def changed(self) -> None:
        """Wait until somebody waits for a queue that nobody waited for."""
        await self._changed.wait()
        self._changed.clear()
