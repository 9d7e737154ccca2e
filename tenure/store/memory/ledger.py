"""The ledger in memory: one process, one lock, so nothing is ever under way while it is read."""

from __future__ import annotations

from tenure.model.fact import Fact
from tenure.store.memory.room import Room, operation


class Ledger(Room):
    """The part of the store port that reads the ledger."""

    @operation
    def ledger_written(self) -> int:
        """See ``Store.ledger_written``."""
        return max((fact.position or 0 for facts in self._data.facts.values() for fact in facts), default=0)

    @operation
    def ledger_mark(self) -> int:
        """See ``Store.ledger_mark``."""
        return 1

    @operation
    def ledger_running(self) -> int:
        """See ``Store.ledger_running``: nothing runs."""
        return 1

    @operation
    def ledger_after(self, tenant: int, after: int, up_to: int, limit: int) -> list[Fact]:
        """See ``Store.ledger_after``."""
        found = [
            fact for facts in self._data.facts.values() for fact in facts
            if fact.tenant == tenant and after < (fact.position or 0) <= up_to
        ]  # fmt: skip
        return sorted(found, key=lambda fact: fact.position or 0)[:limit]
