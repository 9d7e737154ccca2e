"""Fields that occur everywhere: EUIDs, keys, revisions, and how they are described."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AwareDatetime, BeforeValidator, Field, WithJsonSchema

from tenure.model import euid
from tenure.model.requests import ShortText


def _described(prefix: str, what: str) -> WithJsonSchema:
    # The check character is beyond a pattern: the format says that it is there.
    example = euid.format_euid(prefix, 1_000_002)
    return WithJsonSchema({
        "type": "string", "format": "euid", "pattern": "^[A-Za-z]{2}-[0-9A-Za-z]{2,15}$", "maxLength": 18,
        "description": f"The EUID of {what}.", "examples": [example],
    })  # fmt: skip


def _uid(given: Any) -> int:
    return euid.parse_euid(given)


def _written(given: Any) -> Any:
    """A number would be taken for seconds since 1970, which nobody means and the document does not say."""
    if not isinstance(given, str) or given.strip().lstrip("+-").replace(".", "", 1).isdecimal():
        raise ValueError("a time is written as in 2026-03-01T12:00:00Z")
    return given


Time = Annotated[AwareDatetime, BeforeValidator(_written)]
"""A time with its zone, in a parameter."""

#: The uid behind an EUID in a request; ``InvalidEuid`` for what cannot be one.
SubjectEuid = Annotated[int, BeforeValidator(_uid), _described(euid.SUBJECT, "a subject")]
LeaseEuid = Annotated[int, BeforeValidator(_uid), _described(euid.LEASE, "a lease")]
WorkerEuid = Annotated[int, BeforeValidator(_uid), _described(euid.WORKER, "a worker")]
HoldEuid = Annotated[int, BeforeValidator(_uid), _described(euid.HOLD, "a hold")]
RunEuid = Annotated[int, BeforeValidator(_uid), _described(euid.RUN, "a run")]
EventDeadLetterEuid = Annotated[
    int, BeforeValidator(_uid), _described(euid.EVENT_DEAD_LETTER, "a dead letter of a subscription")
]

#: An EUID in an answer.
SubjectName = Annotated[str, _described(euid.SUBJECT, "a subject")]
LeaseName = Annotated[str, _described(euid.LEASE, "a lease")]
RecordName = Annotated[str, _described(euid.RECORD, "an execution record")]
WorkerName = Annotated[str, _described(euid.WORKER, "a worker")]
QueueName = Annotated[str, _described(euid.QUEUE, "a queue")]
HoldName = Annotated[str, _described(euid.HOLD, "a hold")]
DeadLetterName = Annotated[str, _described(euid.DEAD_LETTER, "a dead letter")]
TenantName = Annotated[str, _described(euid.TENANT, "a tenant")]
PrincipalName = Annotated[str, _described(euid.PRINCIPAL, "a principal")]
RunName = Annotated[str, _described(euid.RUN, "a run")]
WorkflowEuidName = Annotated[str, _described(euid.WORKFLOW, "a version of a workflow")]
ScheduleName = Annotated[str, _described(euid.SCHEDULE, "a schedule")]
SubscriptionEuid = Annotated[str, _described(euid.SUBSCRIPTION, "a subscription")]
EventDeadLetterName = Annotated[str, _described(euid.EVENT_DEAD_LETTER, "a dead letter of a subscription")]
AnyName = Annotated[str, _described(euid.SUBJECT, "any object")]

Revision = Annotated[int, Field(ge=1, lt=2**31, description="Grows with every change.", examples=[3])]
Seq = Annotated[int, Field(ge=0, lt=2**31, description="The length of its thread of facts.", examples=[7])]
LeaseToken = Annotated[
    ShortText,
    Field(min_length=16, max_length=200, description="The secret that came with the claim.",
          examples=["6gXbq0nUe1YF0rJcRzq2b8kB8nZ4nU0n4mN2xw0tq9s"]),
]  # fmt: skip
