"""The numbers of queues for those who scrape them, counted once for all who ask at about the same time (S1 section 9.1)."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from tenure.api.gateway import Gateway
from tenure.model.principal import Identity
from tenure.sdk import operations as ops
from tenure.store.records import QueueCounts


@dataclass(frozen=True, slots=True)
class _Count:
    begun: float
    counting: asyncio.Task[list[QueueCounts]]

    def serves(self, since: float) -> bool:
        """Whether who comes now may have it: it goes on, or was begun after ``since`` and did not fail."""
        if not self.counting.done():
            return True
        return self.begun > since and not self.counting.cancelled() and self.counting.exception() is None


class Scraping:
    """Counts a tenant's queues at most once within ``age`` seconds, and never twice at the same time."""

    def __init__(self, gateway: Gateway, age: float) -> None:
        self._gateway = gateway
        self._age = age
        self._counts: dict[int, _Count] = {}

    async def counts(self, identity: Identity) -> list[QueueCounts]:
        """The sixteen numbers of each queue of the identity's tenant."""
        now = time.monotonic()
        self._counts = {tenant: each for tenant, each in self._counts.items() if each.serves(now - self._age)}
        count = self._counts.get(identity.tenant)
        if count is None:
            counting = asyncio.create_task(self._gateway.perform(identity, ops.metrics))
            count = self._counts[identity.tenant] = _Count(now, counting)
        return await asyncio.shield(count.counting)  # who hangs up leaves it to the others
