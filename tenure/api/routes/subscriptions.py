"""Subscriptions: which events leave, where to, and what they gave up (design 05, Out)."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from tenure.api import cursor
from tenure.api.answers import Answer, answered
from tenure.api.authentication import Admin, GatewayOf, Operator
from tenure.api.body import JsonRoute
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.page import CursorParameter, Limit, Page, page
from tenure.api.schemas.subscription import (
    Defined,
    DefineSubscriptionBody,
    Deliveries,
    EventDeadLetterShown,
    GivenUpShown,
    GiveUpBody,
    IgnoreBody,
    RedeliverBody,
    RotateKeyBody,
    Standing,
    SubscriptionBody,
    SubscriptionNameBody,
    SubscriptionReasons,
    SubscriptionShown,
    Tested,
    WaitingShown,
)
from tenure.ledger import dead_letters, explaining, subscriptions, waiting
from tenure.model import euid
from tenure.model.fact import Fact
from tenure.model.subscription import Name
from tenure.sdk.public_form import public

PREFIX = "/api/v1/ledger"
router = APIRouter(prefix=PREFIX, tags=["subscriptions"], route_class=JsonRoute)
Named = Annotated[Name, Path(alias="name", description="The name of a subscription.", examples=["shop"])]


@router.get("/subscriptions", operation_id="list_subscriptions", summary="All subscriptions",
            response_model=Page[Standing])  # fmt: skip
async def list_subscriptions(identity: Operator, gateway: GatewayOf) -> Answer:
    """By name, with how far each has come. There are few: they come on one page."""
    return await answered(
        gateway, identity, subscriptions.subscriptions, shown=lambda rows: {"items": public(rows), "next": None}
    )


@router.get("/subscriptions/{name}", operation_id="get_subscription", summary="One subscription",
            response_model=Standing)  # fmt: skip
async def get_subscription(name: Named, identity: Operator, gateway: GatewayOf) -> Answer:
    """How far it has come, and how its receiver stands."""
    return await answered(gateway, identity, lambda caller: subscriptions.subscription(caller, name))


@router.get("/subscriptions/{name}/deliveries", operation_id="list_failed_deliveries", summary="What failed of late",
            response_model=Deliveries)  # fmt: skip
async def list_failed_deliveries(name: Named, identity: Operator, gateway: GatewayOf, limit: Limit = 50) -> Answer:
    """The latest attempts to deliver that failed, newest first."""
    return await answered(
        gateway, identity, lambda caller: subscriptions.failed_deliveries(caller, name, limit),
        shown=lambda rows: {"items": public(rows)},
    )  # fmt: skip


@router.get("/subscriptions/{name}/dead-letters", operation_id="list_event_dead_letters", summary="What it gave up",
            response_model=Page[EventDeadLetterShown])  # fmt: skip
async def list_event_dead_letters(
    name: Named, identity: Operator, gateway: GatewayOf,
    open_only: Annotated[bool, Query(description="Without those that were resolved.")] = True,
    limit: Limit = 50, cursor_: CursorParameter = None,
) -> Answer:  # fmt: skip
    """Newest first."""
    bound = ("event-dead-letters", name, open_only)
    before = int(cursor.opened(cursor_, *bound)[0]) if cursor_ else None
    return await answered(
        gateway, identity,
        lambda caller: dead_letters.dead_letters(caller, name, open_only=open_only, limit=limit + 1, before=before),
        shown=lambda rows: page(rows, limit, lambda row: [row.uid], *bound),
    )  # fmt: skip


@router.get("/subscriptions/{name}/why", operation_id="explain_subscription", summary="Why a subscription does not send",
            response_model=SubscriptionReasons)  # fmt: skip
async def explain_subscription(name: Named, identity: Operator, gateway: GatewayOf) -> Answer:
    """Every reason for which its events wait, with evidence and what can be done."""
    return await answered(
        gateway, identity, lambda caller: explaining.explain_subscription(caller, name),
        shown=lambda reasons: {"subscription": name, "reasons": public(reasons)},
    )  # fmt: skip


@router.get("/subscriptions/{name}/waiting", operation_id="list_waiting_events", summary="The events that it waits for",
            response_model=Page[WaitingShown])  # fmt: skip
async def list_waiting_events(
    name: Named, identity: Operator, gateway: GatewayOf, limit: Limit = 50, cursor_: CursorParameter = None
) -> Answer:
    """By their place in the ledger: each with what failed, what its receiver answered last, and when it is tried again."""
    bound = ("waiting-events", name)
    after = int(cursor.opened(cursor_, *bound)[0]) if cursor_ else 0
    return await answered(
        gateway, identity, lambda caller: waiting.waiting_events(caller, name, limit=limit + 1, after=after),
        shown=lambda rows: page(rows, limit, lambda row: [row.position], *bound),
    )  # fmt: skip


@router.post("/actions/define-subscription", operation_id="define_subscription",
             summary="Define or change a subscription", response_model=Defined)  # fmt: skip
async def define_subscription(
    body: DefineSubscriptionBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """The same again changes nothing. The key that a new webhook's events are signed with is shown this once: the answer to a
    repetition under the same Idempotency-Key says its number alone.
    """
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity,
        lambda caller: subscriptions.define_subscription(
            caller, body.subscription, start=body.start, idempotency_key=key
        ),
    )  # fmt: skip


@router.post("/actions/pause-subscription", operation_id="pause_subscription", summary="Let a subscription rest",
             response_model=SubscriptionShown)  # fmt: skip
async def pause_subscription(
    body: SubscriptionBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """What is told meanwhile is sent when it goes on."""
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity,
        lambda caller: subscriptions.set_enabled(caller, body.name, False, body.reason, idempotency_key=key),
    )  # fmt: skip


@router.post("/actions/resume-subscription", operation_id="resume_subscription", summary="Let a subscription go on",
             response_model=SubscriptionShown)  # fmt: skip
async def resume_subscription(
    body: SubscriptionBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """From where it stands."""
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity,
        lambda caller: subscriptions.set_enabled(caller, body.name, True, body.reason, idempotency_key=key),
    )  # fmt: skip


@router.post("/actions/remove-subscription", operation_id="remove_subscription", summary="Take a subscription out of use",
             response_model=SubscriptionShown)  # fmt: skip
async def remove_subscription(
    body: SubscriptionBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """For good; its history stays, and its name is free again."""
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity,
        lambda caller: subscriptions.remove_subscription(caller, body.name, body.reason, idempotency_key=key),
    )  # fmt: skip


@router.post("/actions/rotate-signing-key", operation_id="rotate_signing_key", summary="Change the signing key",
             response_model=Defined)  # fmt: skip
async def rotate_signing_key(
    body: RotateKeyBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """Events carry a signature of the new key and of the former, until the former is dropped. Sent again with the same
    Idempotency-Key, no further key is made, and the answer says the number of the one that was shown.
    """
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity,
        lambda caller: subscriptions.rotate_key(caller, body.name, drop_former=body.drop_former, idempotency_key=key),
    )  # fmt: skip


@router.post("/actions/test-subscription", operation_id="test_subscription", summary="Send a test", response_model=Tested,
             status_code=202)  # fmt: skip
async def test_subscription(
    body: SubscriptionNameBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It goes to this subscription alone, on the way of all its events. What became of it, its deliveries and standing say."""
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity, lambda caller: subscriptions.send_test(caller, body.name, idempotency_key=key),
        shown=_tested, status=202,
    )  # fmt: skip


@router.post("/actions/redeliver-event", operation_id="redeliver_event", summary="Send once more what was given up",
             response_model=EventDeadLetterShown)  # fmt: skip
async def redeliver_event(
    body: RedeliverBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """Beside its thread, which has gone on. Where it fails again, there is a new dead letter."""
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity,
        lambda caller: dead_letters.redeliver(
            caller, body.name, body.dead_letter_euid, body.reason, idempotency_key=key
        ),
    )  # fmt: skip


@router.post("/actions/ignore-event", operation_id="ignore_event", summary="Send no more what was given up",
             response_model=EventDeadLetterShown)  # fmt: skip
async def ignore_event(
    body: IgnoreBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """A decision, kept with its reason."""
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity,
        lambda caller: dead_letters.ignore(
            caller, body.name, body.dead_letter_euid, body.reason, idempotency_key=key
        ),
    )  # fmt: skip


@router.post("/actions/give-up-event", operation_id="give_up_event", summary="Give up an event that waits",
             response_model=GivenUpShown, status_code=202)  # fmt: skip
async def give_up_event(
    body: GiveUpBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """Kept with its reason at once; the relay dead-letters the event at its next turn, and what waits behind it goes on."""
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity,
        lambda caller: waiting.give_up(caller, body.name, body.event, body.reason, idempotency_key=key), status=202,
    )  # fmt: skip


def _tested(fact: Fact) -> dict[str, Any]:
    return {"subscription": euid.format_euid(euid.SUBSCRIPTION, fact.thread), "position": fact.position}
