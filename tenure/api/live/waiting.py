"""Waits for work: until a hint comes, something falls due, the time is up, or the client has hung up."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from tenure.api.gateway import Gateway
from tenure.api.live.lines import Line, Lines, Queue
from tenure.model.errors import TenureError
from tenure.model.principal import Identity
from tenure.sdk.worker.listener import Listener
from tenure.sdk.worker.transport import Hints

T = TypeVar("T")
_log = logging.getLogger("tenure.api")
#: Seconds between two looks at what falls due next in a queue that somebody waits for: a read of two index entries.
_LOOK = 2.0
#: Seconds between two polls where hints cannot be heard: from the first to the last, each half as long again.
_POLL_FIRST, _POLL_LAST = 0.2, 3.0
_GROWTH = 1.5


class _Hearing(Listener):
    """Hears the hints of all tenants."""

    def __init__(self, dsn: str, lines: Lines) -> None:
        super().__init__(dsn, 0, Hints())
        self._lines = lines

    def hear(self, tenant: str, queue_key: str) -> None:
        """Work may have become claimable."""
        if tenant.isdigit():
            self._lines.hint((int(tenant), queue_key))


class Waiting:
    """All who wait for work on one server: one connection that listens, one look ahead for each queue."""

    def __init__(self, gateway: Gateway, listen_dsn: str) -> None:
        self.lines = Lines()
        self._gateway = gateway
        self._hearing = _Hearing(listen_dsn, self.lines)
        self._tasks: list[asyncio.Task[None]] = []
        self._watches: dict[Queue, asyncio.Task[None]] = {}
        self._closing = asyncio.Event()

    def open(self) -> None:
        """Begin to listen."""
        self._tasks = [asyncio.create_task(self._hearing.run()), asyncio.create_task(self._after_silence())]

    def stop(self) -> None:
        """Let everybody who waits go home; who comes later does not wait."""
        self._closing.set()

    async def close(self) -> None:
        """Stop listening."""
        self.stop()
        tasks = [*self._tasks, *self._watches.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def until_taken(
        self, identity: Identity, queue_keys: Sequence[str], seconds: float, look: Callable[[], Awaitable[list[T]]],
        gone: Awaitable[None],
    ) -> list[T]:  # fmt: skip
        """What ``look`` brings, as soon as it brings anything within ``seconds``; nothing for a client that is ``gone``.

        Raises what ``look`` raises.
        """
        end = time.monotonic() + seconds
        leaving = [asyncio.ensure_future(gone), asyncio.ensure_future(self._closing.wait())]
        try:
            with self.lines.places([(identity.tenant, key) for key in queue_keys]) as places:
                for key in queue_keys:
                    self._watch((identity.tenant, key), identity)
                while not leaving[0].done():
                    with places.look() as hinted:
                        taken = await look()
                    if taken:
                        for place in hinted:
                            place.pass_on()
                        return taken
                    left = end - time.monotonic()
                    if left <= 0 or self._closing.is_set():
                        break
                    resting = places.rest()
                    try:
                        await asyncio.wait([*resting, *leaving], timeout=left, return_when=asyncio.FIRST_COMPLETED)
                    finally:
                        for rest in resting:
                            rest.cancel()
                        await asyncio.gather(*resting, return_exceptions=True)
                    if not places.hinted:
                        break  # the time is up and nobody said that there is anything: another look would find nothing
        finally:
            for task in leaving:
                task.cancel()
        return []

    def _watch(self, queue: Queue, identity: Identity) -> None:
        line, watch = self.lines.line(queue), self._watches.get(queue)
        # One that has ended looks no more, though the loop has yet to call what forgets it.
        if line is not None and (watch is None or watch.done()):
            watch = self._watches[queue] = asyncio.create_task(self._look_ahead(queue, identity))
            watch.add_done_callback(partial(self._forget, queue))

    def _forget(self, queue: Queue, ended: asyncio.Task[None]) -> None:
        if self._watches.get(queue) is ended:
            del self._watches[queue]

    async def _look_ahead(self, queue: Queue, identity: Identity) -> None:
        """Hint when something falls due, as long as somebody waits; where nothing can be heard, hint now and then."""
        poll = _POLL_FIRST
        while (line := self.lines.line(queue)) is not None:
            seconds = await self._next_due(queue, identity)
            if self._hearing.hints.listening and (seconds is None or seconds > 0):
                poll = _POLL_FIRST
                due = await self._moved(line, min(_LOOK, seconds if seconds is not None else _LOOK))
                if due and seconds is not None and seconds <= _LOOK:
                    line.wake_one()
            else:
                # Nothing is heard, or something is due that those who looked may not take: with patience.
                pause = min(poll, max(seconds, 0.001)) if seconds is not None and seconds > 0 else poll
                if await self._moved(line, pause):
                    line.wake_one()
                    poll = min(poll * _GROWTH, _POLL_LAST)
                else:
                    poll = _POLL_FIRST

    async def _moved(self, line: Line, seconds: float) -> bool:
        """True when the time has passed; False as soon as a hint came, after which there may be another next."""
        line.moved.clear()
        try:
            async with asyncio.timeout(seconds):
                await line.moved.wait()
        except TimeoutError:
            return True
        return False

    async def _next_due(self, queue: Queue, identity: Identity) -> float | None:
        try:
            return await self._gateway.perform(
                identity, lambda caller: caller.store.next_due(caller.tenant, [queue[1]])
            )
        except TenureError as error:
            _log.warning("Looking for what falls due in %s: %s", queue[1], error.message)
            return None

    async def _after_silence(self) -> None:
        """Whenever listening begins or ends, hints may have been missed: one for each line."""
        heard = self._hearing.hints.heard
        while True:
            await heard.wait()
            heard.clear()
            for queue in self.lines:
                self.lines.hint(queue)
