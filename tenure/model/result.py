"""What an action answers: worked out from its fact alone, so that a replay gives the same bytes (S1 section 7.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tenure.model import euid
from tenure.model.attempt import record_of
from tenure.model.fact import Fact
from tenure.model.fact_types import REGISTRY
from tenure.model.json_text import instant

_FACES = {
    "hold": euid.HOLD, "dead_letter": euid.DEAD_LETTER, "record": euid.RECORD, "ended": euid.LEASE,
    "outputs": euid.SUBJECT,
}  # fmt: skip


@dataclass(slots=True)
class ActionResult:
    """The outcome of one action on one subject. ``replayed`` tells that it had been done before."""

    action: str
    type: str
    subject: int
    state: str
    revision: int
    seq: int
    at: datetime
    queue_key: str | None = None
    lease: int | None = None
    worker: int | None = None
    data: Mapping[str, Any] = field(default_factory=dict)
    replayed: bool = field(default=False, compare=False)

    def as_dict(self) -> dict[str, Any]:
        """The public form: EUIDs and ISO times, the same for a replay."""
        public: dict[str, Any] = {
            "action": self.action,
            "subject": euid.format_euid(euid.SUBJECT, self.subject),
            "state": str(self.state),
            "revision": self.revision,
            "seq": self.seq,
            "at": instant(self.at),
            "queue_key": self.queue_key,
        }
        if self.lease is not None:
            public["lease"] = euid.format_euid(euid.LEASE, self.lease)
            public["record"] = euid.format_euid(euid.RECORD, record_of(self.lease))
        if self.worker is not None:
            public["worker"] = euid.format_euid(euid.WORKER, self.worker)
        return public | {key: _public(key, value) for key, value in self.data.items()}


def result_of(fact: Fact, *, replayed: bool = False) -> ActionResult:
    """The answer that belongs to ``fact``."""
    assert fact.state is not None and fact.revision is not None
    return ActionResult(
        action=REGISTRY[fact.type].action, type=fact.type, subject=fact.thread, state=fact.state,
        revision=fact.revision, seq=fact.seq, at=fact.at, queue_key=fact.queue_key, lease=fact.lease,
        worker=fact.worker, data=dict(fact.data or {}), replayed=replayed,
    )  # fmt: skip


def _public(key: str, value: Any) -> Any:
    prefix = _FACES.get(key)
    if prefix is None:
        return value
    return (
        [euid.format_euid(prefix, v) for v in value]
        if isinstance(value, list | tuple)
        else euid.format_euid(prefix, value)
    )
