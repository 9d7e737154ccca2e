"""Why a subscription sends nothing, or not everything: exact reasons, as ``why`` gives them for subjects (design 05, Out)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from tenure.engine.caller import Caller
from tenure.ledger import storage
from tenure.ledger.rows import SubscriptionStanding, WaitingEvent
from tenure.ledger.subscriptions import subscription
from tenure.model.json_text import instant
from tenure.model.visibility import Reason
from tenure.store.operation import Op

_MOST = 20
_PATIENCE = timedelta(seconds=5)
"""Transactions that end within it are nothing to tell of."""


def explain_subscription(caller: Caller, name: str) -> Op[list[Reason]]:
    """Everything for which events of a subscription wait, the most encompassing first; where nothing is in the way, that.

    Of single events that wait, the first 20 by their place in the ledger. Raises NotFound.
    """
    return (yield from reasons(caller.tenant, (yield from subscription(caller, name)), _MOST))


def reasons(tenant: int, standing: SubscriptionStanding, most: int) -> Op[list[Reason]]:
    """The reasons, by how a subscription stands and by the events for which something waits, of which so many are told."""
    uid = standing.subscription.uid
    waiting = yield from storage.waiting_events(tenant, uid, most, 0)
    held = yield from storage.held_back(tenant, uid)
    found = [*_whole(standing), *_held(standing, held), *(_one(standing, event) for event in waiting)]
    found += _left(standing, len(waiting), most)
    if any(reason.blocking for reason in found):
        return found
    return [*found, Reason("delivers", "Nothing is in the way: events are sent as they are told.",
                           "Nothing needs to be done.", {"leader": standing.leader}, blocking=False)]  # fmt: skip


def _whole(standing: SubscriptionStanding) -> Iterator[Reason]:
    row = standing.subscription
    if not row.enabled:
        yield Reason(
            "subscription_rests", "It rests: a person paused it, or it stopped at an event that it gave up.",
            f"See what it gave up, then let it go on: tenure subscription resume {row.name}.",
            {"open_dead_letters": standing.open_dead_letters},
        )  # fmt: skip
    elif standing.leader is None:
        yield Reason(
            "no_relay", "No relay leads it, so nothing is sent.",
            "Let one run: tenure relay, or a server whose database role may do what a relay does.",
        )  # fmt: skip
    if standing.failing_since is not None and standing.resume_at is not None:
        yield Reason(
            "receiver_away",
            f"Its receiver takes nothing since {instant(standing.failing_since)} ({standing.failing_with}, "
            f"{standing.failures} times in a row). It is tried again at {instant(standing.resume_at)}, for ever, and no event "
            "is given up over it.",
            "See to the receiver; what waits comes in order once it is back.",
            {"failing_with": standing.failing_with, "failures": standing.failures, "failing_since": standing.failing_since,
             "resume_at": standing.resume_at},
        )  # fmt: skip


def _held(standing: SubscriptionStanding, since: datetime | None) -> Iterator[Reason]:
    if since is None or standing.at - since < _PATIENCE:
        return
    yield Reason(
        "transaction_open",
        f"A transaction that began before {instant(since)} has not ended, in whatever database of this PostgreSQL server. What was "
        "told since then is not sent before: something earlier may still come of it.",
        "End it: select pid, datname, usename, state, xact_start from pg_stat_activity where backend_xid is not null order by "
        "xact_start; and see pg_prepared_xacts.",
        {"held_since": since},
    )


def _one(standing: SubscriptionStanding, event: WaitingEvent) -> Reason:
    row, spec = standing.subscription, standing.subscription.spec
    behind = "Nothing else waits for it" if event.alone else f"{_line(event)} waits for it, and nothing else does"
    evidence = {
        "event": event.event, "type": event.type, "attempts": event.attempts, "max_attempts": spec.max_attempts,
        "tries": event.tries, "code": event.code, "first_failed_at": event.first_failed_at, "failed_at": event.failed_at,
        "next_attempt_at": event.next_attempt_at, "group_key": event.group_key,
    }  # fmt: skip
    if event.give_up_seq is not None:
        return Reason("event_given_up", f"Event {event.event} ({event.type}) is given up by hand at the relay's next turn.",
                      "Nothing needs to be done.", evidence, blocking=False)  # fmt: skip
    if event.failed_at is None or event.first_failed_at is None:
        return Reason("event_has_its_turn", f"Event {event.event} ({event.type}) is sent at the next turn. {behind}.",
                      "Nothing needs to be done.", evidence, blocking=False)  # fmt: skip
    others = standing.succeeded_at is not None and standing.succeeded_at >= event.failed_at
    left = spec.max_attempts - event.attempts
    ends = f"{left} more that count, and it is given up" if others or spec.on_poison == "stop" else (
        "nothing else got through since, so nothing says that it is the event: it is tried for ever")  # fmt: skip
    return Reason(
        "event_fails",
        f"Event {event.event} ({event.type}) failed {event.tries} times since {instant(event.first_failed_at)}, the last with "
        f"{event.code} at {instant(event.failed_at)}. {event.attempts} of {spec.max_attempts} attempts count against it; {ends}. "
        f"It is tried again at {instant(event.next_attempt_at)}. {behind}.",
        f'See to the receiver, or give the event up: tenure subscription give-up {row.name} {event.event} --reason "..."',
        evidence,
    )  # fmt: skip


def _left(standing: SubscriptionStanding, told: int, most: int) -> Iterator[Reason]:
    name, window = standing.subscription.name, standing.subscription.spec.window_seconds
    if told == most:
        yield Reason("more_events_wait", f"{standing.parked} threads or groups wait in all; these are the first.",
                     f"List them: tenure subscription waiting {name}.", {"parked": standing.parked})  # fmt: skip
    if standing.open_dead_letters:
        yield Reason(
            "gave_up", f"{standing.open_dead_letters} events were given up, and are sent no more.",
            f"Send them again or ignore them: tenure subscription deadletters {name}.",
            {"open_dead_letters": standing.open_dead_letters}, blocking=False,
        )  # fmt: skip
    if window is not None:
        yield Reason("window", f"Each event is held for {window} s.", "Define the subscription without a window.",
                     {"window_seconds": window}, blocking=False)  # fmt: skip


def _line(event: WaitingEvent) -> str:
    return (
        f"Its group {event.group_key!r}"
        if event.group_key is not None
        else f"Its thread {event.event.partition('/')[0]}"
    )
