"""Keeps the worker's word: renews its leases, drops those that ran out, beats, and sweeps what others let lapse.

Each goes on by itself: whatever keeps one of them waiting, a lease that ran out is noticed, and the others are renewed.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from tenure.model.errors import StoreUnavailable, TenureError, WorkerSuperseded
from tenure.model.states import WorkerStatus
from tenure.model.worker import Worker
from tenure.sdk.http.problem import TurnedAway
from tenure.sdk.worker.holding import Holding
from tenure.sdk.worker.transport import Transport

_log = logging.getLogger("tenure.worker")
_TICK = 0.2


class Keeper:
    """Renewal every third of a ttl in one statement for all leases; heartbeat every third of its ttl, at most 30 s."""

    def __init__(
        self, transport: Transport, worker: Worker, holding: Holding, stop: Callable[[str], None], *,
        sweep_interval: float, lease_ttl_seconds: int | None,
    ) -> None:  # fmt: skip
        self._transport = transport
        self._holding = holding
        self._stop = stop
        self._sweep_interval = sweep_interval
        self._ttl = lease_ttl_seconds
        self.worker = worker
        self._beat_every = min(worker.heartbeat_ttl_seconds / 3, 30.0)
        self._next_beat = time.monotonic() + self._beat_every
        self._next_sweep = time.monotonic() + sweep_interval / 2
        self.renewals = 0
        self.lost = 0
        self.swept = 0

    def duties(self) -> dict[str, Coroutine[Any, Any, None]]:
        """What it does until it is canceled, by name; each is to go on by itself."""
        duties = {"watching": self._watch, "renewing": self._renew, "keeping": self._keep}
        return {name: self._at_each_tick(duty, name) for name, duty in duties.items()}

    async def _at_each_tick(self, duty: Callable[[], Awaitable[None]], name: str) -> None:
        away = False
        while True:
            await asyncio.sleep(_TICK)
            try:
                await duty()
            except StoreUnavailable as error:
                # The leases run on; those that run out are noticed by their deadlines. It is told once, not at each tick.
                if not away:
                    _log.warning("%s: %s It is tried until it answers.", name, error.message)
                away = True
            else:
                away = False

    async def _keep(self) -> None:
        now = time.monotonic()
        if now >= self._next_beat:
            self._next_beat = now + self._beat_every
            await self._beat()
        if now >= self._next_sweep:
            self._next_sweep = now + self._sweep_interval
            await self.sweep()

    def beat_soon(self) -> None:
        """Look at the worker's status with the next tick: somebody seems to have changed it."""
        self._next_beat = time.monotonic()

    async def _watch(self) -> None:
        for held in self._holding.all():
            if held.job.lost and not held.reported:
                self._lose(held.item.lease, "it ran out")
                self._holding.lose(held)

    async def _renew(self) -> None:
        due = self._holding.due_for_renewal()
        if not due:
            return
        asked_at = time.monotonic()
        renewed = await self._transport.renew(due, self._ttl)
        self.renewals += len(renewed.held)
        for held in due:
            ttl = self._ttl or held.item.ttl_seconds
            if held.item.lease in renewed.held:
                held.job.deadline = asked_at + ttl
                held.renew_at = asked_at + ttl / 3
            elif held.item.lease not in renewed.busy and held in self._holding.all() and not held.reported:
                self._lose(held.item.lease, "it could not be renewed")
                self._holding.lose(held)

    def _lose(self, lease: int, why: str) -> None:
        self.lost += 1
        _log.warning("Lease %s is lost: %s. Its work is dropped.", lease, why)

    async def _beat(self) -> None:
        try:
            worker = await self._transport.beat()
        except WorkerSuperseded as error:
            self._stop(f"{error.message} {error.hint}")
            return
        except (StoreUnavailable, TurnedAway):
            raise
        except TenureError as error:
            self._stop(str(error))
            return
        before, self.worker = self.worker, worker
        if worker.status is not before.status:
            _log.info("The worker is now %s.", worker.status)
            self._transport.hints.heard.set()
        if worker.status is WorkerStatus.DISABLED:
            self._stop(f"The worker was disabled: {worker.disabled_reason or 'no reason given'}")

    async def sweep(self) -> None:
        """Expire what others let lapse."""
        self.swept += await self._transport.sweep()
        await self._transport.tick()
