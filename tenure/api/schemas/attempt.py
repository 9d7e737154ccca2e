"""Attempts in answers: one execution of one subject by one worker, with the faces lease and record."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from tenure.api.schemas.fields import LeaseName, RecordName, SubjectName, TenantName, WorkerName
from tenure.model.states import LeaseStatus, RecordStatus, State


class Attempt(BaseModel):
    """A lease (S1 section 2.2) and its execution record (S1 section 2.4). Its secret is never shown."""

    euid: LeaseName
    record: RecordName
    subject: SubjectName
    queue_key: str | None = Field(examples=["extraction"])
    worker: WorkerName | None
    attempt_number: int = Field(ge=0)
    record_status: RecordStatus
    lease_status: LeaseStatus | None = Field(description="null for a reconciliation, which has a record only.")
    slot: int
    incarnation: int
    ttl_seconds: int | None
    claimed_at: datetime | None
    heartbeat_at: datetime | None
    expires_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    release_reason: str | None
    start_state: State | None
    start_revision: int | None
    end_state: State | None
    end_revision: int | None
    error_class: str | None
    error_code: str | None
    action_key: str | None
    external_ref: str | None


class LeaseRow(BaseModel):
    """A lease as lists show it."""

    attempt: Attempt
    tenant: TenantName
    error_message: str | None
    result: Any = Field(description="What the worker reported, any JSON.")
    result_ref: str | None
