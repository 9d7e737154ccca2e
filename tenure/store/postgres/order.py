"""The order key of a queue as parameters of the statements that scan in execution order."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tenure.model.ordering import OrderKey

LATEST = datetime.max.replace(tzinfo=UTC)
"""The order key of what is never due."""
_FIRST: tuple[int, Any, Any, Any, int] = (-(2**31), "-infinity", "-infinity", "-infinity", 0)


def after_params(after: OrderKey | None) -> dict[str, Any]:
    """Where a scan goes on, or a place before every key; what is never due is 'infinity' in SQL."""
    rank, due, eligible, created, uid = after if after is not None else _FIRST
    return {
        "after_priority": rank, "after_due": "infinity" if due == LATEST else due, "after_eligible": eligible,
        "after_created": created, "after_uid": uid,
    }  # fmt: skip
