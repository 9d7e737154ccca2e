"""The order key of a queue as parameters of the statements that scan in execution order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from psycopg.types.numeric import Int4, Int8

from tenure.model.ordering import OrderKey

LATEST = datetime.max.replace(tzinfo=UTC)
"""The order key of what is never due."""
_FIRST: tuple[int, Any, Any, Any, int] = (-(2**31), "-infinity", "-infinity", "-infinity", 0)


def after_params(after: OrderKey | None) -> dict[str, Any]:
    """Where a scan goes on, or a place before every key; what is never due is 'infinity' in SQL.

    Always of the same types, so that a statement is prepared and planned once.
    """
    rank, due, eligible, created, uid = after if after is not None else _FIRST
    return {
        "after_priority": Int4(rank), "after_due": "infinity" if due == LATEST else str(due),
        "after_eligible": str(eligible), "after_created": str(created), "after_uid": Int8(uid),
    }  # fmt: skip
