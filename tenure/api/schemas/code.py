"""What the code of a job asks, as holder of its lease, and what it is answered (design 02, Model)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tenure.api.schemas.fields import LeaseEuid, LeaseToken, RunName, SubjectEuid, WorkerEuid
from tenure.api.schemas.guards import KeyedBody
from tenure.flow.engine.code import Holder
from tenure.flow.model.names import Name, WorkflowName
from tenure.model.requests import ShortText
from tenure.sdk.token import Token

_HOLDER = {
    "subject_euid": "SX-YGJ24", "lease_euid": "LX-YGJ48", "worker_euid": "WX-YGJ24",
    "lease_token": "6gXbq0nUe1YF0rJcRzq2b8kB8nZ4nU0n4mN2xw0tq9s",  # nosec B105
}  # fmt: skip
_NOW = "2026-03-01T12:00:00.000000+00:00"


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [{**_HOLDER, **fields}]})


class CodeBody(KeyedBody):
    """Something that the holder of a lease asks for its code. Asked again, it is not done again."""

    subject_euid: SubjectEuid
    lease_euid: LeaseEuid
    worker_euid: WorkerEuid
    lease_token: LeaseToken

    def holder(self) -> Holder:
        """Who asks."""
        return Holder(self.subject_euid, self.lease_euid, self.worker_euid, Token(self.lease_token).digest)


class FindStepBody(CodeBody):
    """What is kept under a name."""

    model_config = _example(name="charge")

    name: ShortText


class KeepStepBody(CodeBody):
    """Keep a value under a name."""

    model_config = _example(name="charge", value={"id": "ch_1"})

    name: ShortText
    value: Any = None


class BeginWaitBody(CodeBody):
    """A span that begins now, unless it has begun before."""

    model_config = _example(name="sleep", seconds=60)

    name: ShortText
    seconds: float = Field(ge=0, le=86400 * 3660)


class TakeSignalBody(CodeBody):
    """Take the oldest signal of a name; ``number`` tells the places in the code apart that wait for one."""

    model_config = _example(name="paid", number=1)

    name: Name
    number: int = Field(ge=1, lt=2**31)


class StartChildRunBody(CodeBody):
    """Start a run as a child of the job's run."""

    model_config = _example(workflow="order", input={"order": 4711}, child_key="only")

    workflow: WorkflowName
    input: Any = Field(default_factory=dict)
    child_key: ShortText = Field(description="The same key from another attempt is the same child.")
    version: int | None = Field(None, ge=1, lt=2**31, description="Not the newest, but this one.")


class KeptShown(BaseModel):
    """What is kept, if anything is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"found": True, "value": {"id": "ch_1"}, "now": _NOW}]})

    found: bool
    value: Any
    now: datetime


class ChildShown(BaseModel):
    """The child run."""

    run: RunName
