"""What a client can do with subscriptions and their dead letters, written once as operations (design 05, Out)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from tenure.engine.caller import Caller
from tenure.ledger import dead_letters, explaining, subscriptions, waiting
from tenure.ledger.rows import (
    Delivery,
    EventDeadLetter,
    GivenUp,
    SubscriptionRow,
    SubscriptionStanding,
    WaitingEvent,
)
from tenure.ledger.subscriptions import Defined
from tenure.model.fact import Fact
from tenure.model.requests import validated
from tenure.model.subscription import SubscriptionSpec
from tenure.model.visibility import Reason
from tenure.sdk.references import uid_of
from tenure.store.operation import Op

DeadLetterRef = int | str | EventDeadLetter


def define_subscription(
    caller: Caller, /, name: str, *, actor: str, filter: Mapping[str, Any], destination: Mapping[str, Any],  # noqa: A002
    start: Literal["now", "beginning"] | int = "now", idempotency_key: str | None = None, **more: Any,
) -> Op[Defined]:  # fmt: skip
    """Define a subscription, or change the one of that name (``tenure.model.subscription.SubscriptionSpec``).

    The key that a new webhook's events are signed with is in the answer, and is not shown again. ``start``: ``now``,
    ``beginning`` or a position of the ledger. Sent again under its ``idempotency_key``, as with all that follow, a request
    is answered from before, but for the key.
    """
    spec = validated(SubscriptionSpec, name=name, actor=actor, filter=filter, destination=destination, **more)
    return subscriptions.define_subscription(caller, spec, start=start, idempotency_key=idempotency_key)


def subscriptions_all(caller: Caller, /) -> Op[list[SubscriptionStanding]]:
    """All subscriptions in use, by name, with how far each has come."""
    return subscriptions.subscriptions(caller)


def subscription(caller: Caller, /, name: str) -> Op[SubscriptionStanding]:
    """One subscription, and how far it has come."""
    return subscriptions.subscription(caller, name)


def failed_deliveries(caller: Caller, /, name: str, *, limit: int = 20) -> Op[list[Delivery]]:
    """The latest attempts of a subscription that failed, newest first."""
    return subscriptions.failed_deliveries(caller, name, limit)


def explain_subscription(caller: Caller, /, name: str) -> Op[list[Reason]]:
    """Why it sends nothing, or not everything."""
    return explaining.explain_subscription(caller, name)


def waiting_events(caller: Caller, /, name: str, *, limit: int = 50, after: int = 0) -> Op[list[WaitingEvent]]:
    """The events for which threads and groups wait, by their place in the ledger, keyset-paged by ``position``."""
    return waiting.waiting_events(caller, name, limit=limit, after=after)


def give_up_event(
    caller: Caller, /, name: str, event: str | WaitingEvent, *, reason: str, idempotency_key: str | None = None
) -> Op[GivenUp]:
    """Dead-letter an event that waits, by hand; what waits behind it goes on."""
    named = event.event if isinstance(event, WaitingEvent) else event
    return waiting.give_up(caller, name, named, reason, idempotency_key=idempotency_key)


def pause_subscription(
    caller: Caller, /, name: str, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[SubscriptionRow]:
    """Let a subscription rest; what is told meanwhile is sent when it goes on."""
    return subscriptions.set_enabled(caller, name, False, reason, idempotency_key=idempotency_key)


def resume_subscription(
    caller: Caller, /, name: str, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[SubscriptionRow]:
    """Let it go on from where it stands."""
    return subscriptions.set_enabled(caller, name, True, reason, idempotency_key=idempotency_key)


def remove_subscription(
    caller: Caller, /, name: str, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[SubscriptionRow]:
    """Take a subscription out of use for good; its history stays."""
    return subscriptions.remove_subscription(caller, name, reason, idempotency_key=idempotency_key)


def rotate_signing_key(
    caller: Caller, /, name: str, *, drop_former: bool = False, idempotency_key: str | None = None
) -> Op[Defined]:
    """Give it a new signing key beside the present one; or, with ``drop_former``, let go of the former one."""
    return subscriptions.rotate_key(caller, name, drop_former=drop_former, idempotency_key=idempotency_key)


def test_subscription(caller: Caller, /, name: str, *, idempotency_key: str | None = None) -> Op[Fact]:
    """Tell a fact that goes to this subscription alone, on the way of all its events."""
    return subscriptions.send_test(caller, name, idempotency_key=idempotency_key)


def event_dead_letters(
    caller: Caller, /, name: str, *, open_only: bool = True, limit: int = 50, before: int | None = None
) -> Op[list[EventDeadLetter]]:
    """What a subscription gave up, newest first, keyset-paged by uid."""
    return dead_letters.dead_letters(caller, name, open_only=open_only, limit=limit, before=before)


def redeliver_event(
    caller: Caller, /, name: str, dead_letter: DeadLetterRef, *, reason: str | None = None,
    idempotency_key: str | None = None,
) -> Op[EventDeadLetter]:  # fmt: skip
    """Send an event once more that was given up."""
    return dead_letters.redeliver(caller, name, _uid(dead_letter), reason, idempotency_key=idempotency_key)


def ignore_event(
    caller: Caller, /, name: str, dead_letter: DeadLetterRef, *, reason: str, idempotency_key: str | None = None
) -> Op[EventDeadLetter]:
    """Decide that an event that was given up is not sent any more."""
    return dead_letters.ignore(caller, name, _uid(dead_letter), reason, idempotency_key=idempotency_key)


def _uid(reference: DeadLetterRef) -> int:
    return reference.uid if isinstance(reference, EventDeadLetter) else uid_of(reference)
