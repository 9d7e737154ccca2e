"""Facts as events for those who follow the ledger: safe metadata only (S4 section 4; design 05, Out)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from tenure.model import euid
from tenure.model.attempt import attempt_of
from tenure.model.cloud_event import thread_euid
from tenure.model.fact import Fact
from tenure.model.fact_types import REGISTRY
from tenure.model.json_text import instant
from tenure.sdk.public_form import public


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events somebody wants; None: all of them."""

    queue_key: str | None = None
    thread: int | None = None
    types: Collection[str] | None = None

    def __contains__(self, fact: Fact) -> bool:
        return (
            (self.queue_key is None or fact.queue_key == self.queue_key)
            and (self.thread is None or fact.thread == self.thread)
            and (self.types is None or fact.type in self.types)
        )


def event(fact: Fact) -> dict[str, Any]:
    """The event of a fact: what its type registers as safe, and no more."""
    kind = REGISTRY.get(fact.type)
    return {
        "position": fact.position,
        "type": fact.type,
        "thread": thread_euid(fact),
        "seq": fact.seq,
        "at": instant(fact.at),
        "actor": fact.actor,
        "state": str(fact.state) if fact.state is not None else None,
        "revision": fact.revision,
        "queue_key": fact.queue_key,
        "lease": euid.format_euid(euid.LEASE, attempt_of(fact.lease)) if fact.lease is not None else None,
        "worker": euid.format_euid(euid.WORKER, fact.worker) if fact.worker is not None else None,
        "correlation_id": fact.correlation_id,
        "severity": kind.severity if kind is not None else None,
        "data": _safe(fact) if kind is not None and kind.classification == "safe_metadata" else None,
    }


def _safe(fact: Fact) -> dict[str, Any] | None:
    if fact.data is None:
        return None
    registered = REGISTRY[fact.type].schema["properties"]
    shown = {name: value for name, value in fact.data.items() if name in registered}
    told: dict[str, Any] = public(shown)
    return told
