"""The one deterministic order of a queue (S1 section 3.4); the index ``claimable`` has the same columns."""

from __future__ import annotations

from datetime import UTC, datetime

from tenure.model.envelope import Envelope

OrderKey = tuple[int, datetime, datetime, datetime, int]

_LATEST = datetime.max.replace(tzinfo=UTC)


def order_key(envelope: Envelope, eligible_at: datetime | None = None) -> OrderKey:
    """Priority descending, due first and undue last, eligible, created, uid ascending."""
    return (
        -envelope.priority,
        envelope.due_at or _LATEST,
        eligible_at or envelope.eligible_at,
        envelope.created_at,
        envelope.uid,
    )
