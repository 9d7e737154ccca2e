"""The ledger: the facts of all threads in the order of their positions (design 05, Out)."""

from __future__ import annotations

from tenure.model.fact import Fact
from tenure.store.operation import Op, Statement
from tenure.store.postgres import rows


class Ledger:
    """The part of the store port that reads the ledger."""

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
