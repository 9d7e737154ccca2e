"""What a relay asks of a destination."""

from __future__ import annotations

from typing import Protocol

from tenure.model.cloud_event import CloudEvent
from tenure.model.delivery import Verdict


class Destination(Protocol):
    """Takes events, one after the other within a thread. It raises nothing that can go wrong there: a verdict says it."""

    @property
    def concurrency(self) -> int:
        """How many deliveries may be under way at once, each of another thread."""
        ...

    async def deliver(self, event: CloudEvent) -> Verdict:
        """Hand over one event; ``DELIVERED`` only once the other side has confirmed that it has it."""
        ...

    async def close(self) -> None:
        """Let go of connections and files."""
        ...
