"""The history of a subject in answers: everything that happened to it, in order (S1 section 8.8)."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, Field

from tenure.api.schemas.attempt import Attempt, LeaseRow
from tenure.api.schemas.dead_letter import DeadLetter
from tenure.api.schemas.fact import FactShown
from tenure.api.schemas.fields import LeaseName, RecordName, SubjectName, WorkerName
from tenure.api.schemas.hold import Hold
from tenure.api.schemas.subject import Execution, SubjectData


class Output(BaseModel):
    """What a record brought forth."""

    record: RecordName
    subject: SubjectName


class Thread(BaseModel):
    """A subject as its facts tell it, at one point of its thread."""

    envelope: Execution
    attempts: list[Attempt]
    holds: list[Hold]
    dead_letters: list[DeadLetter]
    outputs: list[Output]


class RefusedShown(BaseModel):
    """A request that changed nothing."""

    code: str = Field(examples=["lease_expired"])
    action: str = Field(examples=["complete_queue_execution"])
    actor: str
    message: str
    subject: SubjectName | None
    lease: LeaseName | None
    worker: WorkerName | None
    queue_key: str | None


class Refusal(BaseModel):
    """A refusal and when it was."""

    at: datetime
    refused: RefusedShown


class History(BaseModel):
    """Execution records, leases, holds, dead letters, facts and refusals of one subject."""

    subject: SubjectData
    thread: Thread
    facts: list[FactShown]
    attempts: list[LeaseRow]
    refusals: list[Refusal]
