"""Holds in answers: what stops work, and who placed it."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from tenure.api.schemas.fields import HoldName, SubjectName, WorkerName
from tenure.model.states import HoldStatus


class Hold(BaseModel):
    """One hold on one subject (S1 section 2.5)."""

    euid: HoldName
    subject: SubjectName
    hold_code: str = Field(examples=["OPERATOR"])
    reason: str = Field(examples=["broken seal"])
    placed_by: str = Field(examples=["user:ada"])
    placed_at: datetime
    queue_key: str | None
    worker: WorkerName | None
    status: HoldStatus
    released_by: str | None
    released_at: datetime | None


class HoldRow(BaseModel):
    """A hold as lists show it."""

    hold: Hold
    name: str | None = Field(description="The name of its subject.")
