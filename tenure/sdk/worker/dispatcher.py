"""Claims for the whole process: batches, in order of the queues, as long as there is room; then waits for a hint."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence

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
from tenure.sdk.worker.transport import Served, Transport
from tenure.store.records import Claimed

_log = logging.getLogger("tenure.worker")


class Dispatcher:
    """One for a process (design 06, SDK)."""

    def __init__(
        self, transport: Transport, keeper: Keeper, holding: Holding, executing: Executing, options: WorkerOptions,
        wanted: Sequence[str], stop: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._transport = transport
        self._hints = transport.hints
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
        self._stopped = asyncio.Event()
        self.claims = 0
        self.claimed = 0

    async def run(self) -> None:
        """Claim until stopped or canceled."""
        while not self._stopped.is_set():
            await self._refresh()
            self._hints.heard.clear()
            # Where handlers were still at work, what they left behind may have come after the claims of this pass.
            alone = not len(self._holding)
            looking = asyncio.ensure_future(self._pass())
            # Once the claim is on its way, what the last one brought begins: database and handlers work side by side.
            await asyncio.sleep(0)
            self._begin()
            if await looking:
                self._poll = self._options.poll_min
                continue
            if self._options.drain and alone:
                self._stop("Nothing is left to do.")
                return
            if not self._options.drain or len(self._holding):
                await self._rest()

    def stop(self) -> None:
        """Claim no more; a claim that is under way is still awaited, so that what it takes can be given back."""
        self._stopped.set()
        self._hints.heard.set()
        self._holding.freed.set()

    async def _pass(self) -> bool:
        """One look at every queue, the most urgent first; True where work was found."""
        for queue in self._queues:
            limit = self._room(queue)
            if limit < 1 or self._stopped.is_set():
                continue
            if await self._claim(queue, limit):
                return True  # back to the most urgent queue
        return False

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

    async def _claim(self, queue: Served, limit: int) -> Sequence[Claimed]:
        cursor = self._cursors.setdefault(queue.queue_key, Cursor())
        while True:
            hint = cursor.hint(self._holding.before_oldest) if self._transport.seeks else None
            token = Token()
            request = ClaimItems(
                worker=self._keeper.worker.uid, incarnation=self._keeper.worker.incarnation, queue_key=queue.queue_key,
                token_hash=token.digest, limit=limit, start=True, ttl_seconds=self._options.lease_ttl_seconds,
            )  # fmt: skip
            asked_at = time.monotonic()
            again = False
            try:
                taken, asked_at = await self._transport.claim(request, token, hint)
            except StoreUnavailable as error:
                _log.warning("claiming: %s", error.message)
                # What it took is ours under its token, if it took anything.
                taken = await self._transport.orphans(self._holding.newest)
                again = True
            except WorkerSuperseded as error:
                self._stop(f"{error.message} {error.hint}")
                await self._stopped.wait()
                return []
            except (QueueUnknown, WorkerAtLimit, Conflict, Forbidden) as error:
                _log.info("Queue %s: %s", queue.queue_key, error)
                self._refresh_at = 0.0
                if isinstance(error, WorkerNotAccepting):
                    self._keeper.beat_soon()
                return []
            self.claims += 1
            self.claimed += len(taken)
            again |= cursor.note(hint, taken, limit, time.monotonic() - asked_at)
            self._taken.extend([self._holding.add(item, token, asked_at) for item in taken])
            if taken or not again or self._stopped.is_set():
                return taken

    async def _refresh(self) -> None:
        now = time.monotonic()
        if now < self._refresh_at:
            return
        served = [queue for queue in await self._transport.queues() if queue.queue_key in self._wanted]
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
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
