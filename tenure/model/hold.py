"""Holds: what stops work, explicitly and with evidence (S1 sections 2.5 and 8.7)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from tenure.model.states import HoldStatus


@dataclass(frozen=True, slots=True)
class Hold:
    """One hold on one subject."""

    uid: int
    subject: int
    hold_code: str
    reason: str
    placed_by: str
    placed_at: datetime
    queue_key: str | None = None
    worker: int | None = None
    status: HoldStatus = HoldStatus.ACTIVE
    released_by: str | None = None
    released_at: datetime | None = None
