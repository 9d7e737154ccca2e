"""Dead letters in answers: what gave up."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from tenure.api.schemas.fields import DeadLetterName, LeaseName, SubjectName
from tenure.model.states import Resolution


class DeadLetter(BaseModel):
    """One subject that gave up in one queue (S1 section 2.5)."""

    euid: DeadLetterName
    subject: SubjectName
    queue_key: str | None = Field(examples=["extraction"])
    attempt: LeaseName = Field(description="Its last attempt.")
    dead_lettered_at: datetime
    failure_count: int = Field(ge=0)
    error_class: str = Field(examples=["PERMANENT_INPUT"])
    resolution_state: Resolution
    resolved_by: str | None
    resolved_at: datetime | None


class DeadLetterRow(BaseModel):
    """A dead letter as lists show it."""

    letter: DeadLetter
    template: str
    name: str | None
    error_message: str | None
    error_code: str | None
