"""The leases that this process holds: the one list that claims add to, reports take from and renewals walk over."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import SpanContext

from tenure.sdk.job import Job
from tenure.sdk.tasks import Task
from tenure.sdk.token import Token
from tenure.sdk.worker.gate import Gate
from tenure.store.records import Claimed


@dataclass(slots=True, eq=False)
class Held:
    """One lease, its token, the job that the handler sees, and the task that runs it."""

    item: Claimed
    token: Token
    job: Job
    renew_at: float
    asked_at: float
    """When the claim was sent, on this process's monotonic clock."""
    task: Task[..., Any] | None = None
    running: asyncio.Task[None] | None = None
    span: SpanContext | None = None
    """The span of its handler, where spans are kept."""
    started: bool = False
    reported: bool = False
    gates: Sequence[Gate] = ()
    passed: int = 0
    """How many of the gates it is through."""

    @property
    def stoppable(self) -> bool:
        """False for a plain function that has begun: it goes on, whatever becomes of its lease."""
        return not self.started or self.task is None or self.task.executor == "async"

    @property
    def seconds_held(self) -> float:
        """How long ago it was claimed."""
        return time.monotonic() - self.asked_at


class Holding:
    """All leases of the process by uid."""

    def __init__(self) -> None:
        self._held: dict[int, Held] = {}
        self.by_queue: Counter[str] = Counter()
        self.freed = asyncio.Event()
        """Set whenever a lease is let go."""
        self.newest = 0
        """The highest uid of a lease that was ever held."""

    def __len__(self) -> int:
        return len(self._held)

    def add(self, items: Sequence[Claimed], token: Token, asked_at: float) -> list[Held]:
        """Note leases that were asked for at ``asked_at`` (monotonic): each holds at least its ttl from then on."""
        added = [
            Held(item, token, Job(item, asked_at + item.ttl_seconds, token), asked_at + item.ttl_seconds / 3, asked_at)
            for item in items
        ]
        self._held.update({held.item.lease: held for held in added})
        self.newest = max([self.newest, *(item.lease for item in items)])
        self.by_queue.update(item.queue_key for item in items)
        return added

    def drop(self, *helds: Held) -> None:
        """Let go of leases: they were reported, released or lost."""
        for held in helds:
            if self._held.pop(held.item.lease, None) is not None:
                self.by_queue[held.item.queue_key] -= 1
                self.freed.set()

    def lose(self, held: Held) -> None:
        """Tell the handler that its lease is lost, and stop it where that is possible."""
        # Before its first step it sees for itself that the lease is lost; a coroutine that is canceled so early is never
        # entered, and could not give back the place that it has.
        if held.running is not None and held.started:
            held.running.cancel("the lease was lost")
        self.forget(held)

    def forget(self, held: Held) -> None:
        """Drop a lease that is lost; nothing of it will be reported."""
        held.job.told_lost = True
        self.drop(held)

    def due_for_renewal(self) -> list[Held]:
        """Those a third of whose ttl has passed."""
        now = time.monotonic()
        return [held for held in self._held.values() if held.renew_at <= now]

    @property
    def before_oldest(self) -> int:
        """A uid before every lease that is held."""
        return min(self._held, default=self.newest + 1) - 1

    def all(self) -> list[Held]:
        """Every lease held."""
        return list(self._held.values())
