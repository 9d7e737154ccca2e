"""Many actions of one worker in one request."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tenure.api.problem import Problem
from tenure.api.schemas.fields import WorkerEuid
from tenure.api.schemas.outcome import ActionResult
from tenure.api.schemas.working import (
    CompleteBody,
    DeferBody,
    DispatchBody,
    FailBody,
    LeaseBody,
    ReleaseBody,
    RenewBody,
    StartBody,
)

_MOST = 1000
_LEASE = {"lease_euid": "LX-YGJ48", "lease_token": "6gXbq0nUe1YF0rJcRzq2b8kB8nZ4nU0n4mN2xw0tq9s"}  # nosec B105


def _example(action: str, **fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [{"action": action, **_LEASE, **fields}]})


class _OfBatch(LeaseBody):
    """One of the actions. The worker is the batch's."""

    worker_euid: WorkerEuid = Field(0, description="The worker of the batch; may be left out.")

    def details(self) -> dict[str, Any]:
        """What is said besides who holds it."""
        said = super().details()
        said.pop("action", None)
        return said


class StartOne(_OfBatch, StartBody):
    """Begin the work under a lease."""

    model_config = _example("start")

    action: Literal["start"]


class DispatchOne(_OfBatch, DispatchBody):
    """The work goes on outside."""

    model_config = _example("dispatch", external_ref="slurm:4711")

    action: Literal["dispatch"]


class RenewOne(_OfBatch, RenewBody):
    """Hold on to a lease."""

    model_config = _example("renew", ttl_seconds=900)

    action: Literal["renew"]


class ReleaseOne(_OfBatch, ReleaseBody):
    """Give the work back undone."""

    model_config = _example("release")

    action: Literal["release"]


class CompleteOne(_OfBatch, CompleteBody):
    """Report the work as done."""

    model_config = _example("complete", result={"yield_ng": 512})

    action: Literal["complete"]


class FailOne(_OfBatch, FailBody):
    """Report the work as failed."""

    model_config = _example("fail", error_class="TRANSIENT_DEPENDENCY", error_message="the sequencer did not answer")

    action: Literal["fail"]


class DeferOne(_OfBatch, DeferBody):
    """Put the work off."""

    model_config = _example("defer", until="2026-03-01T18:00:00Z")

    action: Literal["defer"]


One = Annotated[
    StartOne | DispatchOne | RenewOne | ReleaseOne | CompleteOne | FailOne | DeferOne, Field(discriminator="action")
]


class BatchBody(BaseModel):
    """Actions on leases of one worker. Each is idempotent as by itself: sent again, it is answered as the first time."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{
            "worker_euid": "WX-YGJ24", "incarnation": 1,
            "actions": [{"action": "complete", **_LEASE, "result": {"yield_ng": 512}}],
        }]},
    )  # fmt: skip

    worker_euid: WorkerEuid
    incarnation: int | None = Field(
        None, ge=1, lt=2**31, description="What registering answered; renewals of one that was superseded are refused."
    )
    actions: Annotated[list[One], Field(min_length=1, max_length=_MOST)]


class BatchOutcome(BaseModel):
    """What became of one action: one of the two."""

    result: ActionResult | None = None
    problem: Problem | None = None


class BatchOutcomes(BaseModel):
    """What became of each, in the order of the request."""

    outcomes: list[BatchOutcome]
