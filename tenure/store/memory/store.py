"""The memory store, put together."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeVar

from tenure.store.memory.claiming import Claiming
from tenure.store.memory.data import Data
from tenure.store.memory.identities import Identities
from tenure.store.memory.ledger import Ledger
from tenure.store.memory.registry import Registry
from tenure.store.memory.relating import Relating
from tenure.store.memory.room import operation
from tenure.store.memory.searching import Searching
from tenure.store.memory.submitting import Submitting
from tenure.store.memory.verifying import Verifying
from tenure.store.operation import Op

T = TypeVar("T")


class MemoryStore(Registry, Submitting, Claiming, Searching, Relating, Ledger, Verifying, Identities):
    """Implements ``tenure.store.port.Store`` by running the model over dicts; drive it with ``run_pure``.

    ``clock`` gives the time, aware; threads may share one store, one operation or transaction at a time.
    """

    def __init__(self, clock: Callable[[], datetime] | None = None) -> None:
        super().__init__(Data(clock or _utc))

    def transaction(self, body: Op[T]) -> Op[T]:
        """See ``Store.transaction``. The lock is held throughout, so ``body`` must be driven by one thread."""
        with self._data.atomic():
            return (yield from body)

    @operation
    def clock(self) -> datetime:
        """See ``Store.clock``."""
        return self._data.clock()

    @operation
    def fresh_uids(self, count: int) -> list[int]:
        """See ``Store.fresh_uids``."""
        return [next(self._data.uids) for _ in range(count)]


def _utc() -> datetime:
    return datetime.now(UTC)
