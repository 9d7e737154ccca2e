"""Claims for the whole process: batches, in order of the queues, as long as there is room; then waits for a hint."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence

from tenure.model.errors import (
    Conflict,
    Forbidden,
    QueueUnknown,
    StoreUnavailable,
    WorkerAtLimit,
    WorkerNotAccepting,
    WorkerSuperseded,
)  # fmt: skip
from tenure.model.requests import ClaimItems
from tenure.model.states import WorkerStatus
from tenure.sdk.token import Token
from tenure.sdk.worker.cursor import Cursor
from tenure.sdk.worker.executing import Executing
from tenure.sdk.worker.holding import Held, Holding
from tenure.sdk.worker.keeper import Keeper
from tenure.sdk.worker.options import WorkerOptions
from tenure.sdk.worker.transport import Served, Taken, Transport
from tenure.store.records import FEW, Claimed

_log = logging.getLogger("tenure.worker")


class Dispatcher:
    """One for a process (design 06, SDK)."""

    def __init__(
        self, transport: Transport, keeper: Keeper, holding: Holding, executing: Executing, options: WorkerOptions,
        wanted: Sequence[str], stop: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._transport = transport
        self._hints = transport.hints
        transport.receiver = self
        self._keeper = keeper
        self._holding = holding
        self._executing = executing
        self._options = options
        self._wanted = set(wanted)
        self._stop = stop
        self._queues: list[Served] = []
        self._refresh_at = 0.0
        self._cursors: dict[str, Cursor] = {}
        self._taken: deque[Held] = deque()
        self._poll = options.poll_min
        self._waited = 0.0
        self._emptied = False
        """Whether the last claim that brought anything brought all that there was."""
        self._stopped = asyncio.Event()
        self.look_seconds = 0.0
        """See ``Receiver.look_seconds``."""
        self.claims = 0
        self.claimed = 0
        self.answered = 0
        """How often a submission answered the standing claim."""

    async def run(self) -> None:
        """Claim until stopped or canceled."""
        while not self._stopped.is_set():
            await self._refresh()
            self._hints.heard.clear()
            # Where handlers were still at work, what they left behind may have come after the claims of this pass.
            alone = not len(self._holding)
            if await self._look():
                self._poll = self._options.poll_min
                if len(self._taken) <= FEW:
                    self._begin()  # no use in letting them wait for a claim that will hardly find more
                if self._emptied and not self._options.drain:
                    # What is there was just seen: a hint will come sooner than another look would bring anything.
                    await _either(self._hints.heard, self._options.poll_min)
                continue
            if self._options.drain and alone:
                if await self._transport.tick():
                    continue
                self._stop("Nothing is left to do.")
                return
            if not self._options.drain or len(self._holding):
                await self._rest()

    async def _look(self) -> bool:
        """A pass. Once its claim is on its way, what the last one brought begins: database and handlers work side by side."""
        if not self._taken:
            return await self._pass()
        looking = asyncio.ensure_future(self._pass())
        try:
            await asyncio.sleep(0)
            self._begin()
            return await looking
        finally:
            looking.cancel()

    def stop(self) -> None:
        """Claim no more; a claim that is under way is still awaited, so that what it takes can be given back."""
        self._stopped.set()
        self._hints.heard.set()
        self._holding.freed.set()

    @property
    def before_oldest(self) -> int:
        """See ``Receiver.before_oldest``."""
        return self._holding.before_oldest

    def given(self, item: Claimed, token: Token, asked_at: float) -> None:
        """See ``Receiver.given``; once stopped, it is given back instead."""
        self.answered += 1
        self._hold(Taken([item], asked_at), token)
        self._begin()

    async def _pass(self) -> bool:
        """One look at every queue, the most urgent first; True where work was found."""
        if self._transport.wait:
            return await self._seek()
        found = False
        for queue in self._queues:
            limit = self._room(queue)
            if limit < 1 or self._stopped.is_set():
                continue
            if await self._claim(queue, limit):
                found = True
                if not self._emptied:
                    break  # back to the most urgent queue
                self._begin()
        return found

    async def _seek(self) -> bool:
        """Ask for work of any queue that there is room for, and have the other side wait until there is some."""
        rooms = [(queue, room) for queue in self._queues if (room := self._room(queue)) >= 1]
        if not rooms or self._stopped.is_set():
            return False
        token, begun = Token(), time.monotonic()
        requests = [self._request(queue, room, token) for queue, room in rooms]
        taken, _ = await self._answered(self._until_stopped(requests, token), token, "any queue")
        self._waited = time.monotonic() - begun
        return self._hold(taken, token)

    async def _until_stopped(self, requests: Sequence[ClaimItems], token: Token) -> Taken:
        """Seek; once stopped, no longer, but for what may have been taken meanwhile."""
        wait = 0.0 if self._options.drain else self._transport.wait
        asking = asyncio.ensure_future(self._transport.seek(requests, token, wait))
        stopping = asyncio.ensure_future(self._stopped.wait())
        try:
            await asyncio.wait({asking, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
        finally:
            for task in (asking, stopping):
                task.cancel()
            await asyncio.gather(asking, stopping, return_exceptions=True)
        return await self._transport.orphans(token)

    def _begin(self) -> None:
        """Begin with what was taken; once stopped, it is given back instead."""
        while self._taken and not self._stopped.is_set():
            self._executing.start(self._taken.popleft())

    def _room(self, queue: Served) -> int:
        if self._keeper.worker.status is not WorkerStatus.ONLINE:
            return 0
        most = whole = self._options.concurrency + self._options.prefetch
        room = whole - len(self._holding)
        if queue.queue_key in self._options.queue_limits:
            most = min(whole, self._options.queue_limits[queue.queue_key])
            room = min(room, most - self._holding.by_queue[queue.queue_key])
        # Small claims cost as much as large ones: wait until a good part of a batch fits.
        least = max(1, min(self._options.batch, most) // 4)
        return min(room, self._options.batch) if room >= least or (room >= 1 and not len(self._holding)) else 0

    def _request(self, queue: Served, limit: int, token: Token) -> ClaimItems:
        worker = self._keeper.worker
        return ClaimItems(
            worker=worker.uid, incarnation=worker.incarnation, queue_key=queue.queue_key, token_hash=token.digest,
            limit=limit, start=True, ttl_seconds=self._options.lease_ttl_seconds,
        )  # fmt: skip

    async def _claim(self, queue: Served, limit: int) -> bool:
        cursor = self._cursors.setdefault(queue.queue_key, Cursor())
        limit = cursor.portion(limit)
        while True:
            hint = cursor.hint(self._holding.before_oldest) if self._transport.scans else None
            token, asked_at = Token(), time.monotonic()
            asking = self._transport.claim(self._request(queue, limit, token), token, hint)
            taken, again = await self._answered(asking, token, f"queue {queue.queue_key}")
            if taken is None:
                return False
            took = time.monotonic() - asked_at
            if hint is None and not taken.items:
                self.look_seconds = took
            again |= cursor.note(hint, taken.items, limit, took)
            if self._hold(taken, token):
                # A claim from a hint on has not seen what stands before it.
                self._emptied = not again and len(taken.items) < limit
                return True
            if not again or self._stopped.is_set():
                return False

    async def _answered(self, asking: Awaitable[Taken], token: Token, what: str) -> tuple[Taken | None, bool]:
        """What a claim took, and whether its answer was lost; None where the worker may not claim."""
        try:
            return await asking, False
        except StoreUnavailable as error:
            _log.warning("claiming: %s", error.message)
            # What it took is ours under its token, if it took anything.
            return await self._transport.orphans(token), True
        except WorkerSuperseded as error:
            self._stop(f"{error.message} {error.hint}")
            await self._stopped.wait()
        except (QueueUnknown, WorkerAtLimit, Conflict, Forbidden) as error:
            _log.info("Claiming from %s: %s", what, error)
            self._refresh_at = 0.0
            if isinstance(error, WorkerNotAccepting):
                self._keeper.beat_soon()
        return None, False

    def _hold(self, taken: Taken | None, token: Token) -> bool:
        """Keep what was taken until it is begun; True where that is anything."""
        if taken is None:
            return False
        self.claims += 1
        self.claimed += len(taken.items)
        self._taken.extend(self._holding.add(taken.items, token, taken.asked_at))
        return len(taken.items) > 0

    async def _refresh(self) -> None:
        now = time.monotonic()
        if now < self._refresh_at:
            return
        served = await self._transport.queues(self._wanted)
        self._queues = sorted(served, key=lambda q: (-q.dispatch_priority, q.queue_key))
        self._hints.served.clear()
        self._hints.served.update(q.queue_key for q in self._queues)
        self._refresh_at = now + self._transport.refresh

    async def _rest(self) -> None:
        """Wait for a hint, for room, or for the next moment at which something falls due."""
        if len(self._holding) and (self._options.drain or not any(self._room(q) for q in self._queues)):
            self._holding.freed.clear()
            if not self._stopped.is_set():
                await _either(self._holding.freed, self._options.poll_max)
            return
        if self._waited > self._transport.wait / 2 and self._transport.wait:
            return  # it did wait, on the other side
        keys = [q.queue_key for q in self._queues]
        seconds = await self._transport.due_in(keys)
        # What is due already and was not taken is nothing that this worker may take, or somebody has it locked.
        overdue = seconds is not None and seconds <= 0
        if self._hints.listening and not overdue:
            longest = self._options.poll_listening
        else:
            longest = self._poll
            self._poll = min(self._poll * 1.5, self._options.poll_max)
        if seconds is not None and not overdue:
            longest = min(longest, max(seconds, 0.001))
        if not self._stopped.is_set():
            await _either(self._hints.heard, longest)


async def _either(event: asyncio.Event, seconds: float) -> None:
    # Not wait_for: Python 3.11's takes a cancellation for nothing where the event comes at the same moment.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
