"""Dead letters: what gave up, until an operator resolves it (S1 sections 2.5 and 8.6)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tenure.model.states import Resolution


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """One subject that gave up in one queue; ``attempt`` is the uid of its last attempt."""

    uid: int
    subject: int
    queue_key: str | None
    attempt: int
    dead_lettered_at: datetime
    failure_count: int
    error_class: str
    resolution_state: Resolution = Resolution.OPEN
    resolved_by: str | None = None
    resolved_at: datetime | None = None
