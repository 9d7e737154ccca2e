"""What the holder of a lease asks, and what takes one (S1 sections 6 and 7)."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from tenure.api.schemas.fields import LeaseEuid, LeaseToken, SubjectEuid, WorkerEuid
from tenure.api.schemas.guards import GuardedBody
from tenure.model.queue import Key
from tenure.model.requests import Message, Reference, ShortText, Text
from tenure.model.states import ErrorClass

_LONGEST_WAIT = 60
_TTL = Annotated[int, Field(ge=1, le=86400 * 365)]
_HOLDER = {
    "lease_euid": "LX-YGJ48", "worker_euid": "WX-YGJ24", "lease_token": "6gXbq0nUe1YF0rJcRzq2b8kB8nZ4nU0n4mN2xw0tq9s",  # nosec B105
}  # fmt: skip


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


class AlsoFrom(BaseModel):
    """Another queue to take from, with a key and a limit of its own."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"queue_key": "post_extract_qc", "limit": 1}]}
    )

    queue_key: Key = Field(examples=["post_extract_qc"])
    limit: int = Field(1, ge=1, le=1000, description="How many at most.")
    idempotency_key: ShortText | None = Field(
        None, description="A key of its own: send it again by itself to repeat it."
    )


class ClaimBody(GuardedBody):
    """Take up to ``limit`` subjects of a queue, or exactly one that is named, under lease."""

    model_config = _example(worker_euid="WX-YGJ24", incarnation=1, queue_key="extraction", limit=1, wait_seconds=0)

    worker_euid: WorkerEuid
    queue_key: Key = Field(examples=["extraction"])
    incarnation: int | None = Field(
        None, ge=1, lt=2**31, description="What registering answered: one that was superseded since gets nothing."
    )
    limit: int = Field(1, ge=1, le=1000, description="How many at most.")
    subject_euid: SubjectEuid | None = Field(None, description="Exactly this one, or nothing.")
    start: bool = Field(False, description="Begin at once: RUNNING instead of leased.")
    ttl_seconds: _TTL | None = Field(
        None, description="How long the leases last; the queue's time where it is left out."
    )
    lease_token: LeaseToken | None = Field(
        None, description="A secret of your own that is to prove the leases. Left out, the server makes one: a fresh one, or "
        "with an idempotency key the same for each repetition with the same credential.",
    )  # fmt: skip
    also_from: Annotated[list[AlsoFrom], Field(max_length=50)] = Field(
        default_factory=list, description="More queues. The most urgent is looked at first, and one claim takes from one queue."
    )  # fmt: skip
    wait_seconds: float = Field(
        0, ge=0, le=_LONGEST_WAIT, description="How long to wait for work where there is none (long poll)."
    )


class LeaseBody(GuardedBody):
    """An action of the holder of a lease, which proves itself with worker and token."""

    lease_euid: LeaseEuid
    worker_euid: WorkerEuid
    lease_token: LeaseToken

    def details(self) -> dict[str, Any]:
        """What is said besides who holds it."""
        return self.given("lease_euid", "worker_euid", "lease_token")


class StartBody(LeaseBody):
    """Begin the work under a lease."""

    model_config = _example(**_HOLDER)

    deadline: AwareDatetime | None = Field(
        None, description="The work goes on outside: the lease lasts until then.", examples=["2026-03-02T12:00:00Z"]
    )


class DispatchBody(LeaseBody):
    """Tell that the work goes on outside (S1 section 7.6)."""

    model_config = _example(**_HOLDER, external_ref="slurm:4711")

    external_ref: ShortText | None = Field(None, description="Its name there.")
    deadline: AwareDatetime | None = Field(None, description="Until when the lease lasts; without it, for good.")


class RenewBody(LeaseBody):
    """Hold on to a lease."""

    model_config = _example(**_HOLDER, ttl_seconds=900)

    ttl_seconds: _TTL | None = Field(None, description="From now; the queue's time where it is left out.")


class ReleaseBody(LeaseBody):
    """Give the work back undone; no attempt is spent."""

    model_config = _example(**_HOLDER, reason="the machine is needed elsewhere")

    reason: Text | None = None


class CompleteBody(LeaseBody):
    """Report the work as done."""

    model_config = _example(**_HOLDER, result={"yield_ng": 512}, next_queue_key="post_extract_qc")

    result: Any = Field(None, description="Any JSON; kept in the record.")
    result_ref: Reference | None = Field(None, description="Where a large result is kept.")
    next_queue_key: Key | None = Field(None, description="Sends the subject on; without it, it is COMPLETED.")
    next_action_key: Key | None = None
    ready_at: AwareDatetime | None = Field(None, description="For the next queue: not before.")
    output_euids: Annotated[list[SubjectEuid], Field(max_length=1000)] = Field(
        default_factory=list, description="The subjects that it brought forth; the record's lineage leads to them."
    )

    def details(self) -> dict[str, Any]:
        """What is said besides who holds it."""
        return self.given("lease_euid", "worker_euid", "lease_token", "output_euids") | {
            "outputs": tuple(self.output_euids)
        }


class FailBody(LeaseBody):
    """Report the work as failed; the class decides what follows (S1 section 8.4)."""

    model_config = _example(**_HOLDER, error_class="TRANSIENT_DEPENDENCY", error_message="the sequencer did not answer")

    retryable: bool | None = Field(None, description="Stands for the plain classes where error_class is left out.")
    error_class: ErrorClass = Field(ErrorClass.TRANSIENT_SYSTEM, description="What kind of failure it was.")
    error_code: ShortText | None = None
    error_message: Message | None = None
    retry_after_seconds: float | None = Field(None, ge=0, le=86400 * 365, description="Instead of the queue's policy.")
    next_queue_key: Key | None = Field(None, description="Where the retry goes; else the same queue.")


class DeferBody(LeaseBody):
    """Put the work off without spending an attempt."""

    model_config = _example(**_HOLDER, until="2026-03-01T18:00:00Z")

    until: AwareDatetime
