"""The ledger: the facts of all threads in the order of their positions (design 05, Out)."""

from __future__ import annotations

from tenure.model.fact import Fact
from tenure.store.operation import Op, Statement
from tenure.store.postgres import rows
from tenure.store.records import InboxRow


class Ledger:
    """The ledger part of the store port."""

    def ledger_written(self) -> Op[int]:
        """See ``Store.ledger_written``."""
        return int((yield Statement("ledger_written"))[0]["position"])

    def ledger_mark(self) -> Op[int]:
        """See ``Store.ledger_mark``."""
        return int((yield Statement("ledger_mark"))[0]["mark"])

    def ledger_running(self) -> Op[int]:
        """See ``Store.ledger_running``."""
        return int((yield Statement("ledger_running"))[0]["oldest_running"])

    def ledger_after(self, tenant: int, after: int, up_to: int, limit: int) -> Op[list[Fact]]:
        """See ``Store.ledger_after``."""
        params = {"tenant": tenant, "after": after, "up_to": up_to, "limit": limit}
        return [rows.fact(row) for row in (yield Statement("ledger_after", params))]

    def take_in(
        self, tenant: int, actor: str, source: str, message_id: str, content_hash: bytes
    ) -> Op[tuple[InboxRow, bool]]:
        """See ``Store.take_in``."""
        params = {
            "tenant": tenant, "source": source, "message_id": message_id, "content_hash": content_hash, "actor": actor,
        }  # fmt: skip
        if new := (yield Statement("take_in", params)):
            return InboxRow(content_hash, actor, new[0]["received_at"]), True
        before = (yield Statement("taken_in", params))[0]
        return InboxRow(bytes(before["content_hash"]), before["actor"], before["received_at"]), False
