"""Fields that several contracts of S5 share."""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    Strict,
    StringConstraints,
)

#: RFC 3339, 5.6: which days and times there are is looked at when it is read.
_TIMESTAMP = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def _timestamp(value: Any) -> Any:
    if isinstance(value, datetime) or (isinstance(value, str) and _TIMESTAMP.fullmatch(value)):
        return value
    raise ValueError("write it as RFC 3339 has it, with the offset: 2026-03-01T12:00:00Z")


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


#: An identifier of the product's or of an execution stack's: opaque, kept as it came.
Id = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f]+$")]
#: ASCII, as RFC 3986 has it: what else a name holds is percent-encoded.
Uri = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"^[!#-\[\]-~]+$")]
Sentence = Annotated[str, StringConstraints(max_length=2000, pattern=r"^[^\x00]*$")]
#: From text as RFC 3339 has it; within Python also a datetime with its offset.
Rfc3339 = Annotated[
    AwareDatetime, BeforeValidator(_timestamp),
    PlainSerializer(lambda at: at.isoformat().replace("+00:00", "Z"), when_used="json"),
]  # fmt: skip
# What a value is says its type in JSON: "2" is no number and "no" no boolean, and true is not 1.
Boolean = Annotated[bool, Strict()]
#: 2.0 is one, too, as in JSON Schema.
Integer = Annotated[int, Strict(), BeforeValidator(_whole)]
Number = Annotated[float, Strict()]


class Contract(BaseModel):
    """What crosses the border: closed and immutable."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def wire(self) -> dict[str, Any]:
        """The JSON form without what was not given."""
        return self.model_dump(mode="json", exclude_none=True)


class ExecutionState(StrEnum):
    """The states of an execution (S5, Required fields)."""

    ACCEPTED = "accepted"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"


class ProjectionState(StrEnum):
    """What the product is told (design 04, ProjectionUpdate)."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


class SchedulerRef(Contract):
    """Where the scheduler has it. ``slurm_job_id`` never changes once it is given."""

    slurm_job_id: Id | None = None
    partition: Id | None = None
    qos: Id | None = None


class ResultRef(Contract):
    """Where results are."""

    output_uri: Uri
    metadata_uri: Uri | None = None


class Failure(Contract):
    """Why it failed, and whether the same may be tried again."""

    code: Id
    message: Sentence
    retryable: Boolean


class ResourceShape(Contract):
    """What a job asks for: cores, MiB of memory, seconds of wall time."""

    cpu: Integer = Field(ge=1, le=1_000_000)
    memory_mib: Integer = Field(ge=1, le=2**31)
    walltime_seconds: Integer = Field(ge=1, le=366 * 86400)


class PayloadRef(Contract):
    """Where the input is, and which bucket takes what comes out."""

    input_uri: Uri
    artifact_bucket: Uri | None = None


class ExecutionProfile(Contract):
    """Which of the node's queues, and how it is billed and ranked there."""

    queue_name: Id
    qos: Id | None = None
    account: Id | None = None


class RequestedBy(Contract):
    """Who asked. The session is no part of what makes two commands the same."""

    user_id: Id
    session_id: Id | None = None
