"""Follows the ledger once for a whole server, and hands out what it reads to all who listen (design 06, HTTP API).

The latest events of a tenant that somebody listens to are kept in memory, so many. Who listens has a position of his own
and goes at his own pace: one who lags further behind than that reads from the database, page by page, until he has caught
up. So a slow client costs a number, and nobody ever misses an event.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager

from tenure.api.gateway import Gateway
from tenure.ledger.horizon import Horizon
from tenure.model.errors import TenureError
from tenure.model.fact import Fact
from tenure.model.principal import Identity

_log = logging.getLogger("tenure.api")
_KEPT = 2000
_PAGE = 500
#: Positions that one statement walks over at most: those of other tenants are among them.
_STRIDE = 50_000
_LOOK_BUSY, _LOOK_IDLE, _LOOK_AWAY = 0.1, 0.5, 2.0


class Tail:
    """The latest facts of one tenant: all of those after ``start`` up to ``end``."""

    def __init__(self, identity: Identity, start: int) -> None:
        self.identity = identity
        self.start = self.end = start
        self.listeners = 0
        self._facts: deque[Fact] = deque()
        self._moved = asyncio.Event()

    def add(self, facts: list[Fact], end: int) -> None:
        """What follows, up to ``end``."""
        self._facts.extend(facts)
        while len(self._facts) > _KEPT:
            self.start = self._facts.popleft().position or 0
        self.end = end
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    def after(self, position: int) -> list[Fact]:
        """The kept facts after a position."""
        return [fact for fact in self._facts if (fact.position or 0) > position]

    def moved(self) -> asyncio.Event:
        """Is set when the tail has grown."""
        return self._moved


class Following:
    """The one reader of the ledger of a server."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._horizon = Horizon()
        self._tails: dict[int, Tail] = {}
        self._wanted = asyncio.Event()
        self._closing = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def listeners(self) -> int:
        """How many listen."""
        return sum(tail.listeners for tail in self._tails.values())

    def open(self) -> None:
        """Begin to follow, as soon as somebody listens."""
        self._task = asyncio.create_task(self._follow())

    def stop(self) -> None:
        """End all streams."""
        self._closing.set()

    async def close(self) -> None:
        """Stop following."""
        self.stop()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def safe(self) -> int:
        """Up to which position nothing can be missed, as of now."""
        position = await self._look()
        return position if self._horizon.settled else await self._look()

    async def page(self, identity: Identity, after: int, up_to: int, limit: int) -> tuple[list[Fact], int]:
        """Facts after a position, ``limit`` at most, and the position up to which they are all there are."""
        end = after
        while True:
            begin, end = end, min(up_to, end + _STRIDE)
            facts = await self._gateway.perform(
                identity, lambda caller: caller.store.ledger_after(caller.tenant, begin, end, limit)  # noqa: B023
            )  # fmt: skip
            if len(facts) == limit:
                return facts, facts[-1].position or end
            if facts or end >= up_to:
                return facts, max(end, after)

    async def listen(
        self, identity: Identity, after: int | None, heartbeat: float
    ) -> AsyncGenerator[tuple[list[Fact], int]]:
        """Facts as they come, each time with the position that was reached; without facts at least each ``heartbeat``."""
        with self._listening(identity, await self.safe()) as tail:
            position = after if after is not None else tail.end
            while not self._closing.is_set():
                moved = tail.moved()
                if position < tail.start:
                    facts, position = await self.page(identity, position, tail.end, _PAGE)
                else:
                    facts, position = tail.after(position), max(position, tail.end)
                yield facts, position
                if position >= tail.end:
                    await self._either(moved, heartbeat)

    @contextmanager
    def _listening(self, identity: Identity, safe: int) -> Iterator[Tail]:
        tail = self._tails.get(identity.tenant)
        if tail is None:
            tail = self._tails[identity.tenant] = Tail(identity, safe)
        tail.listeners += 1
        self._wanted.set()
        try:
            yield tail
        finally:
            tail.listeners -= 1
            if not tail.listeners:
                del self._tails[identity.tenant]

    async def _either(self, moved: asyncio.Event, seconds: float) -> None:
        waiting = [asyncio.ensure_future(event.wait()) for event in (moved, self._closing)]
        try:
            await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()

    async def _look(self) -> int:
        return await self._gateway.perform_unbound(self._horizon.look)

    async def _follow(self) -> None:
        while True:
            if not self._tails:
                self._wanted.clear()
                await self._wanted.wait()
            try:
                safe = await self._look()
                moved = [await self._advance(tail, safe) for tail in list(self._tails.values())]
                pause = _LOOK_BUSY if any(moved) or not self._horizon.settled else _LOOK_IDLE
            except TenureError as error:
                _log.warning("Following the ledger: %s", error.message)
                pause = _LOOK_AWAY
            await asyncio.sleep(pause)

    async def _advance(self, tail: Tail, safe: int) -> bool:
        if tail.end >= safe:
            return False
        facts, end = await self.page(tail.identity, tail.end, safe, _PAGE)
        tail.add(facts, end)
        return True
