"""What a client can say of what is kept for a time, written once as operations (docs/decisions/0018)."""

from __future__ import annotations

from tenure.engine.caller import Caller
from tenure.ledger import retention as ledger
from tenure.model.retention import Retention, RetentionKind
from tenure.store.operation import Op


def retention(caller: Caller, /) -> Op[list[Retention]]:
    """How long each kind is kept that is no fact, and what of it was removed."""
    return ledger.retention(caller)


def set_retention(
    caller: Caller, /, kind: RetentionKind, *, days: int, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Retention]:
    """Keep ``inbox`` or ``delivery`` for so many days."""
    return ledger.set_retention(caller, kind, days, reason, idempotency_key=idempotency_key)


def clean(caller: Caller, /) -> Op[int]:
    """Remove a batch of what is kept no longer, now; how many rows went. Workers, servers and relays do it by themselves."""
    return ledger.clean(caller)
