"""What is kept for a time only, how long, and its removal in small batches (docs/decisions/0018)."""

from __future__ import annotations

import time

from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.model import fact_types as ft
from tenure.model.errors import IdempotencyConflict, NotFound
from tenure.model.fact import Fact
from tenure.model.json_text import canonical_json, payload_hash
from tenure.model.retention import Retention, RetentionKind, checked
from tenure.store.operation import Op, Statement

#: Rows of a kind that one call removes at most.
BATCH = 1000
#: Seconds until it is looked again: where a batch was full, and where it was not.
_AGAIN, _EVERY = 5.0, 600.0


class Cleaning:
    """When it is time to clean, by tenant: every few minutes, and at once where there is more to remove. Of one process."""

    def __init__(self) -> None:
        self._next: dict[int, float] = {}

    def due(self, tenant: int) -> bool:
        """Whether it is time."""
        return time.monotonic() >= self._next.get(tenant, 0.0)

    def done(self, tenant: int, removed: int) -> None:
        """It was cleaned, and so many rows were removed."""
        self._next[tenant] = time.monotonic() + (_AGAIN if removed >= BATCH else _EVERY)

    def clean(self, caller: Caller, *, relay: bool = False) -> Op[int]:
        """Clean a batch if it is time; how many rows were removed. A relay also forgets what waited of removed subscriptions."""
        if not self.due(caller.tenant):
            return 0
        self.done(caller.tenant, 0)  # where it fails, not at once again
        removed = yield from clean(caller)
        if relay:
            removed += (yield Statement("forget_removed", {"tenant": caller.tenant, "limit": BATCH}))[0]["removed"]
        self.done(caller.tenant, removed)
        return removed


def clean(caller: Caller, limit: int = BATCH) -> Op[int]:
    """Remove what is older than it is kept for, ``limit`` rows of each kind at most; how many went.

    Any number may clean at once.
    """
    removed = 0
    for statement in ("clean_inbox", "clean_delivery"):
        removed += (yield Statement(statement, {"tenant": caller.tenant, "limit": limit}))[0]["removed"]
    return removed


def retention(caller: Caller) -> Op[list[Retention]]:
    """How long each kind is kept for the tenant, and what was removed."""
    return [Retention(**row) for row in (yield Statement("retention", {"tenant": caller.tenant}))]


def set_retention(
    caller: Caller, kind: RetentionKind, days: int, reason: str | None = None, *, idempotency_key: str | None = None
) -> Op[Retention]:
    """Keep a kind for so many days, which is a fact of the tenant. Raises InvalidRequest, IdempotencyConflict.

    A shorter time removes what is older with the next cleaning; a longer one brings nothing back.
    """
    checked(kind, days)
    op = caller.store.transaction(_set(caller, kind, days, reason, idempotency_key))
    return told(caller, "set_retention", op, lambda _: {}, idempotency_key=idempotency_key)


def _set(caller: Caller, kind: RetentionKind, days: int, reason: str | None, key: str | None) -> Op[Retention]:
    found = yield Statement("lock_tenant", {"uid": caller.tenant})
    if not found:
        raise NotFound("There is no such tenant.", "Create it first.")
    data = {"kind": kind, "days": days} | ({"reason": reason} if reason else {})
    before = (yield from caller.store.prior_fact(caller.tenant, (ft.RETENTION_SET,), key)) if key is not None else None
    if before is not None and before.payload_hash != payload_hash(data):
        raise IdempotencyConflict("This idempotency key was used before for another setting.", "Use a new key.",
                                  idempotency_key=key)  # fmt: skip
    if before is None:
        now = yield from caller.store.clock()
        fact = Fact(caller.tenant, found[0]["seq"] + 1, ft.RETENTION_SET, now, caller.tenant, caller.actor, data=data,
                    idempotency_key=key, payload_hash=payload_hash(data))  # fmt: skip
        fact.hash = fact.content_hash(bytes(found[0]["head"]))
        yield Statement("set_retention", {
            "tenant": caller.tenant, "seq": fact.seq, "at": now, "type": fact.type, "actor": fact.actor, "key": key,
            "payload_hash": fact.payload_hash, "data": canonical_json(data), "hash": fact.hash, "kind": kind, "days": days,
        })  # fmt: skip
    return next(each for each in (yield from retention(caller)) if each.kind == kind)
