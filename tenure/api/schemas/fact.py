"""Facts in answers: what a thread tells, and what the ledger tells to those who follow it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, Field

from tenure.api.schemas.fields import AnyName, LeaseName, TenantName, WorkerName
from tenure.model.states import State


class FactShown(BaseModel):
    """One fact of a thread, as it was appended; never changed."""

    thread: AnyName
    seq: int = Field(ge=1)
    type: str = Field(examples=["subject.submitted"])
    at: datetime
    tenant: TenantName
    actor: str = Field(examples=["user:ada"])
    state: State | None = Field(description="After it; of the thread of a subject.")
    revision: int | None
    queue_key: str | None
    lease: LeaseName | None
    worker: WorkerName | None
    data: dict[str, Any] | None
    idempotency_key: str | None
    correlation_id: str | None
    causation_id: int | None
    trace_id: str | None
    hash: str = Field(description="SHA-256 over the hash of the fact before it and its own content, hexadecimal.")


class Event(BaseModel):
    """One fact of the ledger, for those who follow it: safe metadata only, never payloads (S4 section 4)."""

    position: int = Field(ge=1, description="Its place in the ledger; grows, with gaps.")
    type: str = Field(examples=["execution.completed"])
    thread: AnyName = Field(description="The subject, queue, worker, principal or tenant that it is about.")
    seq: int = Field(ge=1)
    at: datetime
    actor: str = Field(examples=["service:extractor"])
    state: State | None
    revision: int | None
    queue_key: str | None
    lease: LeaseName | None
    worker: WorkerName | None
    correlation_id: str | None
    severity: str | None = Field(examples=["warning"])
    data: dict[str, Any] | None


class Edge(BaseModel):
    """One edge of the lineage, by its relation (S1 section 2)."""

    parent: AnyName
    child: AnyName
    relation: str = Field(examples=["execution_subject_lease"])


class Lineage(BaseModel):
    """The edges at one object, both ways."""

    edges: list[Edge]
