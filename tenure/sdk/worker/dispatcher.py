"""Claims for the whole process: batches, in order of the queues, as long as there is room; then waits for a hint."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence

from tenure.engine.actions import claim
from tenure.engine.caller import Caller
from tenure.model.errors import Conflict, Forbidden, QueueUnknown, StoreUnavailable, WorkerAtLimit, WorkerSuperseded
from tenure.model.queue import Queue
from tenure.model.requests import ClaimItems
from tenure.model.states import LeaseStatus, WorkerStatus
from tenure.sdk.token import Token
from tenure.sdk.worker.cursor import Cursor
from tenure.sdk.worker.executing import Executing
from tenure.sdk.worker.holding import Held, Holding
from tenure.sdk.worker.keeper import Keeper
from tenure.sdk.worker.link import Link
from tenure.sdk.worker.listener import Listener
from tenure.sdk.worker.options import WorkerOptions
from tenure.store.records import Claimed

_log = logging.getLogger("tenure.worker")
_REFRESH = 5.0


class Dispatcher:
    """One for a process (design 06, SDK)."""

    def __init__(
        self, link: Link, caller: Caller, keeper: Keeper, holding: Holding, executing: Executing, listener: Listener,
        options: WorkerOptions, wanted: Sequence[str], stop: Callable[[str], None],
    ) -> None:  # fmt: skip
        self._link = link
        self._caller = caller
        self._keeper = keeper
        self._holding = holding
        self._executing = executing
        self._listener = listener
        self._options = options
        self._wanted = set(wanted)
        self._stop = stop
        self._queues: list[Queue] = []
        self._refresh_at = 0.0
        self._cursors: dict[str, Cursor] = {}
        self._taken: deque[Held] = deque()
        self._poll = options.poll_min
        self.claims = 0
        self.claimed = 0

    async def run(self) -> None:
        """Claim until canceled."""
        while True:
            await self._refresh()
            self._listener.heard.clear()
            looking = asyncio.ensure_future(self._pass())
            # Once the claim is on its way, what the last one brought begins: database and handlers work side by side.
            await asyncio.sleep(0)
            self._begin()
            if await looking:
                self._poll = self._options.poll_min
                continue
            if self._options.drain and not len(self._holding) and not await self._anything_due():
                self._stop("Nothing is left to do.")
                return
            await self._rest()

    async def _pass(self) -> bool:
        """One look at every queue, the most urgent first; True where work was found."""
        for queue in self._queues:
            limit = self._room(queue)
            if limit < 1:
                continue
            if await self._claim(queue, limit):
                return True  # back to the most urgent queue
        return False

    def _begin(self) -> None:
        while self._taken:
            self._executing.start(self._taken.popleft())

    def _room(self, queue: Queue) -> int:
        if self._keeper.worker.status is not WorkerStatus.ONLINE:
            return 0
        room = self._options.concurrency + self._options.prefetch - len(self._holding)
        if (most := self._options.queue_limits.get(queue.queue_key)) is not None:
            room = min(room, most - self._holding.by_queue[queue.queue_key])
        # Small claims cost as much as large ones: wait until a good part of a batch fits.
        least = min(self._options.batch, self._options.concurrency + self._options.prefetch) // 4
        return min(room, self._options.batch) if room >= max(1, least) or (room >= 1 and not len(self._holding)) else 0

    async def _claim(self, queue: Queue, limit: int) -> list[Claimed]:
        cursor = self._cursors.setdefault(queue.queue_key, Cursor())
        while True:
            hint = cursor.hint()
            token = Token()
            request = ClaimItems(
                worker=self._keeper.worker.uid, incarnation=self._keeper.worker.incarnation, queue_key=queue.queue_key,
                token_hash=token.digest, limit=limit, start=True, ttl_seconds=self._options.lease_ttl_seconds,
            )  # fmt: skip
            asked_at = time.monotonic()
            try:
                taken = (await self._link.attempt(lambda: claim.claim(self._caller, request, hint))).items  # noqa: B023
            except StoreUnavailable:
                taken = await self._orphans()
            except WorkerSuperseded as error:
                self._stop(f"{error.message} {error.hint}")
                await asyncio.sleep(3600)
                raise
            except (QueueUnknown, WorkerAtLimit, Conflict, Forbidden) as error:
                _log.info("Queue %s: %s", queue.queue_key, error)
                self._refresh_at = 0.0
                return []
            self.claims += 1
            self.claimed += len(taken)
            again = cursor.note(hint, taken, limit, time.monotonic() - asked_at)
            self._taken.extend([self._holding.add(item, token, asked_at) for item in taken])
            if taken or not again:
                return taken

    async def _orphans(self) -> list[Claimed]:
        """After a claim whose answer was lost: what it took is ours under its token, if it took anything."""
        worker = self._keeper.worker.uid
        held = {h.item.lease for h in self._holding.all()}
        rows = await self._link.perform(
            lambda: self._caller.store.leases(self._caller.tenant, LeaseStatus.ACTIVE, 10_000, None, None, worker)
        )
        lost = [
            row.attempt.uid for row in rows
            if row.attempt.uid not in held and row.attempt.incarnation == self._keeper.worker.incarnation
        ]  # fmt: skip
        return await self._link.perform(lambda: self._caller.store.claimed(lost)) if lost else []

    async def _refresh(self) -> None:
        now = time.monotonic()
        if now < self._refresh_at:
            return
        found = await self._link.perform(lambda: self._caller.store.queues(self._caller.tenant))
        served = [q for q in found.values() if q.queue_key in self._wanted and q.enabled]
        self._queues = sorted(served, key=lambda q: (-q.dispatch_priority, q.queue_key))
        self._listener.served.clear()
        self._listener.served.update(q.queue_key for q in self._queues)
        self._refresh_at = now + _REFRESH

    async def _anything_due(self) -> bool:
        keys = [q.queue_key for q in self._queues]
        seconds = await self._link.perform(lambda: self._caller.store.next_due(self._caller.tenant, keys))
        return seconds is not None

    async def _rest(self) -> None:
        """Wait for a hint, for room, or for the next moment at which something falls due."""
        if len(self._holding) and (self._options.drain or not any(self._room(q) for q in self._queues)):
            self._holding.freed.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._holding.freed.wait(), self._options.poll_max)
            return
        if self._listener.listening:
            longest = self._options.poll_listening
        else:
            longest = self._poll
            self._poll = min(self._poll * 1.5, self._options.poll_max)
        keys = [q.queue_key for q in self._queues]
        seconds = await self._link.perform(lambda: self._caller.store.next_due(self._caller.tenant, keys))
        if seconds is not None:
            longest = min(longest, max(seconds, 0.001))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._listener.heard.wait(), longest)
