"""The leases that this process holds: the one list that claims add to, reports take from and renewals walk over."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from dataclasses import dataclass

from tenure.sdk.job import Job
from tenure.sdk.token import Token
from tenure.store.records import Claimed


@dataclass(slots=True, eq=False)
class Held:
    """One lease, its token, the job that the handler sees, and the task that runs it."""

    item: Claimed
    token: Token
    job: Job
    renew_at: float
    running: asyncio.Task[None] | None = None
    started: bool = False


class Holding:
    """All leases of the process by uid."""

    def __init__(self) -> None:
        self._held: dict[int, Held] = {}
        self.by_queue: Counter[str] = Counter()
        self.freed = asyncio.Event()
        """Set whenever a lease is let go."""

    def __len__(self) -> int:
        return len(self._held)

    def add(self, item: Claimed, token: Token, asked_at: float) -> Held:
        """Note a lease that was asked for at ``asked_at`` (monotonic): it holds at least its ttl from then on."""
        job = Job(item, asked_at + item.ttl_seconds, token)
        held = Held(item, token, job, renew_at=asked_at + item.ttl_seconds / 3)
        self._held[item.lease] = held
        self.by_queue[item.queue_key] += 1
        return held

    def drop(self, held: Held) -> None:
        """Let go of a lease: it was reported, released or lost."""
        if self._held.pop(held.item.lease, None) is not None:
            self.by_queue[held.item.queue_key] -= 1
            self.freed.set()

    def lose(self, held: Held) -> None:
        """Tell the handler that its lease is lost, and stop it where that is possible."""
        held.job.told_lost = True
        if held.running is not None:
            held.running.cancel("the lease was lost")
        self.drop(held)

    def due_for_renewal(self) -> list[Held]:
        """Those a third of whose ttl has passed."""
        now = time.monotonic()
        return [held for held in self._held.values() if held.renew_at <= now]

    def all(self) -> list[Held]:
        """Every lease held."""
        return list(self._held.values())
