"""The ledger in memory: one process, one lock, so nothing is ever under way while it is read."""

from __future__ import annotations

from tenure.model.fact import Fact
from tenure.store.memory.room import Room, operation
from tenure.store.records import InboxRow


class Ledger(Room):
    """The ledger part of the store port."""

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

    @operation
    def take_in(
        self, tenant: int, actor: str, source: str, message_id: str, content_hash: bytes
    ) -> tuple[InboxRow, bool]:
        """See ``Store.take_in``."""
        before = self._data.inbox.get((tenant, source, message_id))
        if before is not None:
            return before, False
        row = InboxRow(content_hash, actor, self._data.clock())
        self._data.inbox.put((tenant, source, message_id), row)
        return row, True
