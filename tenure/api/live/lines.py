"""Who waits for work: one line for each queue, in which those who came first are woken first.

A hint that there may be work wakes the first of the line. Whoever then takes something wakes the next two, because there
may be more; whoever takes nothing goes to the end of the line. So a hint costs at most a claim or two that find nothing,
many subjects at once are taken by many, and nobody else wakes (design 06, HTTP API).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

Queue = tuple[int, str]
"""Tenant and queue_key."""
_PASSED_ON_TO = 2


class Place:
    """One request that waits, or looks for work. ``woken`` is set when it is to look (again)."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self.woken = asyncio.Event()

    @contextmanager
    def look(self) -> Iterator[None]:
        """A look for work. What goes wrong in it leaves the hint to others."""
        hinted = self.woken.is_set()
        self.woken.clear()
        try:
            yield
        except BaseException:
            if hinted:
                self.woken.set()
            raise

    async def rest(self) -> None:
        """Wait to be woken, at the end of the line."""
        if self.woken.is_set():
            return  # a hint came while it was looking
        self._line.resting[self] = None
        try:
            await self.woken.wait()
        finally:
            self._line.resting.pop(self, None)

    def pass_on(self) -> None:
        """Wake those who come next: there may be more."""
        for _ in range(_PASSED_ON_TO):
            self._line.wake_one()


class Places:
    """One request that waits in the lines of several queues."""

    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places

    @contextmanager
    def look(self) -> Iterator[list[Place]]:
        """A look for work in all of them; gives the places that were hinted."""
        hinted = [place for place in self._places if place.woken.is_set()]
        with ExitStack() as looking:
            for place in self._places:
                looking.enter_context(place.look())
            yield hinted

    @property
    def hinted(self) -> bool:
        """Whether any of them is to look (again)."""
        return any(place.woken.is_set() for place in self._places)

    def rest(self) -> list[asyncio.Task[None]]:
        """Wait in all of them, each a task; the first that ends was woken."""
        return [asyncio.create_task(place.rest()) for place in self._places]


class Line:
    """The line of one queue. Dicts keep the order of insertion, and can be left from the middle."""

    def __init__(self) -> None:
        self.places: dict[Place, None] = {}
        self.resting: dict[Place, None] = {}
        self.moved = asyncio.Event()
        """Set with each hint: what falls due next may be another thing now."""

    def wake_one(self) -> None:
        """Wake the first that rests; where none does, have one that is looking look once more."""
        for place in self.resting:
            del self.resting[place]
            place.woken.set()
            return
        for place in self.places:
            if not place.woken.is_set():
                place.woken.set()
                return


class Lines:
    """The lines of a server."""

    def __init__(self) -> None:
        self._lines: dict[Queue, Line] = {}

    def __len__(self) -> int:
        return sum(len(line.places) for line in self._lines.values())

    def __iter__(self) -> Iterator[Queue]:
        return iter(list(self._lines))

    def line(self, queue: Queue) -> Line | None:
        """The line of a queue, while somebody is in it."""
        return self._lines.get(queue)

    @contextmanager
    def place(self, queue: Queue) -> Iterator[Place]:
        """A place in the line of a queue; to be taken before the first look, so that no hint is missed."""
        line = self._lines.setdefault(queue, Line())
        place = Place(line)
        line.places[place] = None
        try:
            yield place
        finally:
            del line.places[place]
            if place.woken.is_set():
                line.wake_one()  # it leaves without having looked
            if not line.places:
                del self._lines[queue]

    @contextmanager
    def places(self, queues: Sequence[Queue]) -> Iterator[Places]:
        """A place in the line of each of these queues."""
        with ExitStack() as taken:
            yield Places([taken.enter_context(self.place(queue)) for queue in queues])

    def hint(self, queue: Queue) -> None:
        """There may be work in the queue."""
        if (line := self._lines.get(queue)) is not None:
            line.wake_one()
            line.moved.set()
