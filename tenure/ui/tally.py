"""The counts of queues, counted once for everybody who looks, and the less often the more there is to count."""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence

from nicegui import background_tasks

from tenure.api.gateway import Gateway
from tenure.model.errors import TenureError
from tenure.model.principal import Identity
from tenure.sdk import operations as ops
from tenure.store.records import QueueCounts

_REST = 20.0
"""Counting takes at most one part in so many of the time: counts that took 0.1 s are good for 2 s."""
_LONG = 0.1
"""Seconds from which on nobody waits for a count who can be shown one that is not older than ``_OLDEST``."""
_OLDEST = 60.0


class Tally:
    """Counts of one server process, by tenant. In a small database they are exact at the moment of each look."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, str], tuple[QueueCounts, float]] = {}
        self._turns: defaultdict[int, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._cost: dict[int, float] = {}

    async def counts(self, gateway: Gateway, identity: Identity, queue_keys: Sequence[str]) -> dict[str, QueueCounts]:
        """The counts of these queues; a queue that is gone is missing. Raises what reading raises."""
        tenant = identity.tenant
        ages = [self._age(tenant, key) for key in queue_keys]
        if self._cost.get(tenant, 0.0) > _LONG and all(age < _OLDEST for age in ages):
            if max(ages, default=0.0) > self._good_for(tenant) and not self._turns[tenant].locked():
                background_tasks.create(
                    self._in_background(gateway, identity, queue_keys), name="tenure: queues are counted"
                )
        else:
            await self._count(gateway, identity, queue_keys)
        known = {key: self._known.get((tenant, key)) for key in queue_keys}
        return {key: entry[0] for key, entry in known.items() if entry is not None}

    async def keep_warm(self, gateway: Gateway, identity: Identity) -> None:
        """Where counting takes long, count from time to time, so that nobody has to wait for it."""
        keys = [key for tenant, key in self._known if tenant == identity.tenant]
        if self._cost.get(identity.tenant, 0.0) > _LONG and keys:
            await self._count(gateway, identity, keys)

    async def _count(self, gateway: Gateway, identity: Identity, queue_keys: Sequence[str]) -> None:
        tenant = identity.tenant
        async with self._turns[tenant]:
            stale = [key for key in queue_keys if self._age(tenant, key) > self._good_for(tenant)]
            if not stale:
                return
            begun = time.monotonic()
            found = await gateway.perform(identity, lambda caller: ops.metrics(caller, stale))
            done = time.monotonic()
            self._cost[tenant] = done - begun
            for key in stale:
                self._known.pop((tenant, key), None)
            self._known |= {(tenant, each.queue_key): (each, done) for each in found}

    async def _in_background(self, gateway: Gateway, identity: Identity, queue_keys: Sequence[str]) -> None:
        try:
            await self._count(gateway, identity, queue_keys)
        except TenureError:
            return  # whoever looks next finds out

    def _good_for(self, tenant: int) -> float:
        return _REST * self._cost.get(tenant, 0.0)

    def _age(self, tenant: int, queue_key: str) -> float:
        known = self._known.get((tenant, queue_key))
        return time.monotonic() - known[1] if known is not None else float("inf")


TALLY = Tally()
"""One for each process, as NiceGUI is."""
