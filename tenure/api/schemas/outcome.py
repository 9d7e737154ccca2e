"""What actions answer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tenure.api.schemas.fields import LeaseName, LeaseToken, RecordName, Revision, Seq, SubjectName, WorkerName
from tenure.model.states import State

_EXAMPLE: dict[str, Any] = {
    "action": "complete_queue_execution", "subject": "SX-YGJ24", "state": "COMPLETED", "revision": 3, "seq": 4,
    "at": "2026-03-01T12:03:10.000000+00:00", "queue_key": "extraction", "lease": "LX-YGJ48", "record": "RX-YGJ5A",
    "worker": "WX-YGJ24", "replayed": False,
}  # fmt: skip


class ActionResult(BaseModel):
    """The outcome of one action on one subject; what its fact tells besides comes along."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_EXAMPLE]})

    action: str = Field(description="The key of the action (S1 section 7).")
    subject: SubjectName
    state: State = Field(description="After the action.")
    revision: Revision
    seq: Seq
    at: datetime
    queue_key: str | None
    lease: LeaseName | None = None
    record: RecordName | None = None
    worker: WorkerName | None = None
    replayed: bool = Field(description="Whether it had been done before, under the same idempotency key.")


class ClaimedShown(BaseModel):
    """One subject taken under lease, with the secret that proves it: here, and nowhere else."""

    lease: LeaseName
    lease_token: LeaseToken
    subject: SubjectName
    queue_key: str
    worker: WorkerName
    attempt_number: int = Field(ge=1)
    state: State
    revision: Revision
    seq: Seq
    slot: int
    claimed_at: datetime
    expires_at: datetime
    ttl_seconds: int
    started: bool
    template: str
    name: str | None
    external_ref: str | None
    next_action_key: str | None
    priority: int
    properties: dict[str, Any]
    payload_ref: str | None
    correlation_id: str | None
    submitted_in: str | None = Field(description="The trace in which it was submitted, hexadecimal.")


class Claims(BaseModel):
    """What a claim brought: empty where there was nothing to take."""

    leases: list[ClaimedShown]
    taken_after_seconds: float = Field(
        0.0, description="How long after the request came they were taken: a lease lasts its ttl from then on. Negative where "
        "an earlier request with the same key had taken them.", examples=[0.0],
    )  # fmt: skip


class TemplateShown(BaseModel):
    """A kind of subject, with the JSON Schema of its properties."""

    euid: str = Field(examples=["PX-YGJ24"])
    tenant: str = Field(examples=["TX-16JH"])
    code: str = Field(examples=["content/material/specimen/1.0"])
    properties_schema: dict[str, Any]
