"""Requests on subscriptions that come again under the key of before (design 06: Idempotency-Key is the idempotency key).

The fact that a request appended carries its key and the hash of what it asked, as those of the kernel's actions do. So what
was done is known as long as the history is, and nothing else has to be kept of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tenure.engine.caller import Caller
from tenure.ledger import storage
from tenure.model.errors import IdempotencyConflict
from tenure.model.fact import Fact
from tenure.model.json_text import payload_hash
from tenure.store.operation import Op


@dataclass(frozen=True, slots=True)
class Asked:
    """The key under which something is asked, and the hash of what."""

    key: str
    proof: bytes


def asked(key: str | None, action: str, **what: Any) -> Asked | None:
    """What a request asks, where it has a key; ``what`` is plain data."""
    return Asked(key, payload_hash({"action": action} | what)) if key is not None else None


def told_before(caller: Caller, name: str, types: Sequence[str], ask: Asked | None) -> Op[Fact | None]:
    """The fact that this request appended when it came before, for a subscription of that name, in use or removed.

    Call it with the subscription locked, where there is one. Raises IdempotencyConflict where the key stands for another request.
    """
    if ask is None:
        return None
    fact = yield from storage.prior_fact(caller.tenant, name, types, ask.key)
    if fact is not None and fact.payload_hash != ask.proof:
        raise IdempotencyConflict(
            f"This idempotency key was used before for another request on subscription {name!r}.", "Use a new key.",
            idempotency_key=ask.key,
        )  # fmt: skip
    return fact
