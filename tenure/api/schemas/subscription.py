"""Subscriptions, their standing and their dead letters, as they are asked for and shown."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tenure.api.schemas.fields import (
    AnyName,
    EventDeadLetterEuid,
    EventDeadLetterName,
    Seq,
    SubscriptionEuid,
    TenantName,
)
from tenure.api.schemas.guards import KeyedBody
from tenure.api.schemas.subject import Reason
from tenure.model import euid
from tenure.model.requests import Text
from tenure.model.subscription import Name, SubscriptionSpec

Position = Annotated[int, Field(ge=0, lt=2**53)]
_EVENT = f"{euid.format_euid(euid.SUBJECT, 1_000_001)}/3"
EventName = Annotated[
    str,
    Field(pattern=r"^[A-Za-z]{1,10}-[0-9A-Za-z]{2,15}/[0-9]{1,9}$", examples=[_EVENT],
          description="An event: the EUID of its thread, and its number there."),
]  # fmt: skip
_LETTER = euid.format_euid(euid.EVENT_DEAD_LETTER, 1_000_002)


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


class DefineSubscriptionBody(KeyedBody):
    """Define or change a subscription."""

    model_config = _example(subscription={
        "name": "shop", "actor": "service:shop", "filter": {"types": ["run.terminal"]},
        "destination": {"kind": "webhook", "url": "https://shop.example/events"},
    })  # fmt: skip

    subscription: SubscriptionSpec
    start: Literal["now", "beginning"] | Position = Field("now", description="Where a new one begins in the ledger.")


class SubscriptionBody(KeyedBody):
    """An action on a subscription."""

    model_config = _example(name="shop", reason="maintenance")

    name: Name
    reason: Text | None = None


class SubscriptionNameBody(KeyedBody):
    """One subscription."""

    model_config = _example(name="shop")

    name: Name


class RotateKeyBody(SubscriptionNameBody):
    """Give a subscription a new signing key, or let go of the former one."""

    model_config = _example(name="shop")

    drop_former: bool = Field(False, description="Make no new one, but let go of the former.")


class RedeliverBody(SubscriptionBody):
    """Send an event once more that a subscription gave up."""

    model_config = _example(name="shop", dead_letter_euid=_LETTER, reason="the receiver was mended")

    dead_letter_euid: EventDeadLetterEuid


class IgnoreBody(SubscriptionNameBody):
    """Decide that an event is not sent any more."""

    model_config = _example(name="shop", dead_letter_euid=_LETTER, reason="of no use any more")

    dead_letter_euid: EventDeadLetterEuid
    reason: Text


class GiveUpBody(SubscriptionNameBody):
    """Give up an event that waits."""

    model_config = _example(name="shop", event=_EVENT, reason="the receiver cannot take it")

    event: EventName
    reason: Text


class SubscriptionShown(BaseModel):
    """A subscription."""

    euid: SubscriptionEuid
    tenant: TenantName
    name: str = Field(examples=["shop"])
    spec: SubscriptionSpec
    enabled: bool
    created_at: datetime
    retired_at: datetime | None
    seq: Seq


class KeyShown(BaseModel):
    """A key that events are signed with; it is not shown again."""

    number: int = Field(ge=1)
    text: str = Field(examples=["tnk_6gXbq0nUe1YF0rJcRzq2b8kB8nZ4nU0n4mN2xw0tq9s"])


class Defined(BaseModel):
    """A subscription, and its new key where one was made."""

    subscription: SubscriptionShown
    key: KeyShown | None
    replayed: bool = Field(description="Whether it had been done before, under the same idempotency key.")
    shown: int | None = Field(
        description="Where it had: the number of the key that was shown then, which nobody is shown again. One that did not come "
        "in is replaced: rotate the signing key, with a new idempotency key.",
    )


class Standing(BaseModel):
    """How far a subscription has come."""

    subscription: SubscriptionShown
    behind: int = Field(
        ge=0, description="Positions of the ledger between its cursor and the newest, of whatever tenant."
    )
    oldest_at: datetime | None = Field(description="When the oldest event was told that it has not sent.")
    delivered: int = Field(ge=0)
    failed: int = Field(ge=0, description="Attempts that failed.")
    parked: int = Field(ge=0, description="Threads that wait for an event to be tried again.")
    open_dead_letters: int = Field(ge=0)
    failures: int = Field(ge=0, description="How often in a row its receiver took nothing.")
    failing_since: datetime | None
    failing_with: str | None = Field(examples=["http_503"])
    resume_at: datetime | None
    succeeded_at: datetime | None
    leader: str | None = Field(description="The relay that leads it.")
    held_until: datetime | None
    keys: list[int] = Field(description="The numbers of the keys that it signs with.")
    at: datetime


class DeliveryShown(BaseModel):
    """An attempt to deliver that failed."""

    thread: AnyName
    type: str | None = Field(description="Of the event; null once that is archived.", examples=["run.terminal"])
    attempts: int = Field(ge=0, description="How many counted against the event by then.")
    at: datetime
    outcome: Literal["refused", "failed", "down"]
    code: str = Field(examples=["http_422"])
    status: int | None
    next_attempt_at: datetime | None


class Deliveries(BaseModel):
    """The latest attempts of a subscription that failed, newest first."""

    items: list[DeliveryShown]


class WaitingShown(BaseModel):
    """An event for which a thread waits, or a group of threads: the next one of it that is sent."""

    event: EventName
    type: str = Field(examples=["run.terminal"])
    at: datetime = Field(description="When it was told.")
    group_key: str | None = Field(description="The group that waits for it, where it is one.")
    alone: bool = Field(description="Whether nothing else waits for it: it is sent once more by hand.")
    attempts: int = Field(ge=0, description="How many count against it: those between which others got through.")
    tries: int = Field(ge=0, description="How many failed in all.")
    first_failed_at: datetime | None
    failed_at: datetime | None
    code: str | None = Field(description="What the last one came to.", examples=["http_500"])
    next_attempt_at: datetime
    give_up_seq: Seq | None = Field(
        description="Where it is given up by hand: the fact of the subscription that says so."
    )


class SubscriptionReasons(BaseModel):
    """Why a subscription sends nothing, or not everything."""

    subscription: str = Field(examples=["shop"])
    reasons: list[Reason]


class GivenUpShown(BaseModel):
    """That an event was given up by hand."""

    subscription: SubscriptionEuid
    event: EventName
    reason: str
    given_up_by: str = Field(examples=["user:ada"])
    given_up_at: datetime


class EventDeadLetterShown(BaseModel):
    """An event that one subscription gave up."""

    euid: EventDeadLetterName
    subscription: SubscriptionEuid
    thread: AnyName
    fact_seq: Seq
    type: str = Field(examples=["run.terminal"])
    status: Literal["OPEN", "REDELIVERED", "IGNORED"]
    code: str = Field(examples=["http_422"])
    http_status: int | None
    attempts: int = Field(ge=0)
    first_failed_at: datetime
    opened_at: datetime
    resolved_at: datetime | None
    resolved_by: str | None
    reason: str | None


class Tested(BaseModel):
    """A test that is on its way."""

    subscription: SubscriptionEuid
    position: Position = Field(description="Its place in the ledger.")
