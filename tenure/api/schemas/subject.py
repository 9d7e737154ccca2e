"""Subjects in answers: the data tier, the execution envelope, and why it is or is not moving."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tenure.api.schemas.attempt import Attempt
from tenure.api.schemas.dead_letter import DeadLetter
from tenure.api.schemas.fields import PrincipalName, RecordName, Revision, Seq, SubjectName, TenantName, WorkerName
from tenure.api.schemas.hold import Hold
from tenure.model.states import HoldState, State


class SubjectData(BaseModel):
    """What a subject is, written once."""

    euid: SubjectName
    tenant: TenantName
    template: str = Field(examples=["content/material/specimen/1.0"])
    name: str | None = Field(examples=["plate 7 A1"])
    external_ref: str | None = Field(examples=["LIMS-4711"])
    properties: dict[str, Any] = Field(examples=[{"volume_ul": 50}])
    payload_ref: str | None
    correlation_id: str | None
    created_at: datetime


class Execution(BaseModel):
    """The execution envelope, the only authority on where a subject stands (S1 section 1.3)."""

    euid: SubjectName
    tenant: TenantName
    template: str = Field(examples=["content/material/specimen/1.0"])
    created_at: datetime
    state: State
    revision: Revision
    seq: Seq
    next_queue_key: str | None = Field(examples=["extraction"])
    next_action_key: str | None = Field(examples=["create_extraction"])
    priority: int
    ready_at: datetime | None
    due_at: datetime | None
    retry_at: datetime | None
    attempt_count: int = Field(ge=0)
    max_attempts_override: int | None
    hold_state: HoldState
    hold_reason: str | None
    cancel_requested: bool
    terminal: bool = Field(description="Nothing will happen to it any more, unless an admin reopens it.")
    slots_total: int = Field(ge=1, description="How many workers may hold it at once.")
    slots_free: int = Field(ge=0)
    slots_done: int = Field(ge=0)
    last_record: RecordName | None
    site: str | None
    platform: str | None
    assay: str | None
    barred_workers: list[WorkerName] = Field(
        description="Who did it before and may not take it: it is done again by somebody else."
    )
    barred_principals: list[PrincipalName] = Field(description="None of their workers may take it either.")


class Reason(BaseModel):
    """Why a subject is not moving, or who could move it (S1 section 9.3)."""

    code: str = Field(
        description="Stable: hold_active, active_lease, retry_window, next_queue_missing, state_not_eligible, queue_disabled, "
        "capability_mismatch, cancel_requested, terminal_state, and others.",
        examples=["hold_active"],
    )
    message: str = Field(examples=["It is on hold (OPERATOR): broken seal"])
    remedy: str = Field(examples=["Release the hold."])
    evidence: dict[str, Any] = Field(description="The values that decided.")
    blocking: bool = Field(description="Whether it keeps the subject from being claimed now.")


class Reasons(BaseModel):
    """All reasons for one subject."""

    subject: SubjectName
    reasons: list[Reason]


_EXAMPLE: dict[str, Any] = {
    "subject": {
        "euid": "SX-YGJ24", "tenant": "TX-16JH", "template": "content/material/specimen/1.0", "name": "plate 7 A1",
        "external_ref": "LIMS-4711", "properties": {"volume_ul": 50}, "payload_ref": None, "correlation_id": None,
        "created_at": "2026-03-01T12:00:00.000000+00:00",
    },
    "execution": {
        "euid": "SX-YGJ24", "tenant": "TX-16JH", "template": "content/material/specimen/1.0",
        "created_at": "2026-03-01T12:00:00.000000+00:00", "state": "HELD", "revision": 2, "seq": 2,
        "next_queue_key": "extraction", "next_action_key": None, "priority": 0, "ready_at": None, "due_at": None,
        "retry_at": None, "attempt_count": 0, "max_attempts_override": None, "hold_state": "ACTIVE",
        "hold_reason": "broken seal", "cancel_requested": False, "terminal": False, "slots_total": 1, "slots_free": 1,
        "slots_done": 0, "last_record": None, "site": None, "platform": None, "assay": None,
        "barred_workers": [], "barred_principals": [],
    },
    "leases": [], "holds": [], "dead_letter": None, "visible": False,
    "reasons": [{
        "code": "hold_active", "message": "It is on hold (OPERATOR): broken seal", "remedy": "Release the hold.",
        "evidence": {"placed_by": "user:ada"}, "blocking": True,
    }],
    "at": "2026-03-01T12:05:00.000000+00:00",
}  # fmt: skip


class Standing(BaseModel):
    """A subject as it stands, with the reasons for which it is or is not moving."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    subject: SubjectData
    execution: Execution
    leases: list[Attempt] = Field(description="Its live leases.")
    holds: list[Hold] = Field(description="Its active holds.")
    dead_letter: DeadLetter | None = Field(description="Its open dead letter.")
    visible: bool = Field(description="Whether a worker that serves its queue could claim it now.")
    reasons: list[Reason]
    at: datetime = Field(description="The moment of the look, by the database's clock.")


class SubjectRow(BaseModel):
    """A subject as lists show it."""

    envelope: Execution
    name: str | None
    external_ref: str | None
    correlation_id: str | None


class Item(BaseModel):
    """A visible subject of a queue, with the fields that order it (S1 section 3.4)."""

    envelope: Execution
    name: str | None
    external_ref: str | None
    eligible_at: datetime = Field(description="Since when it may be taken: the third key of the order.")
