"""Subscriptions, dead letters of events and keys, over statement files. They need a database: there is no relay in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from tenure.ledger.rows import Delivery, EventDeadLetter, SubscriptionRow, SubscriptionStanding, WaitingEvent
from tenure.model.cloud_event import Leaving, euid_of_thread
from tenure.model.fact import Fact
from tenure.model.json_text import canonical_json
from tenure.model.subscription import SubscriptionSpec
from tenure.store.operation import Op, Statement
from tenure.store.postgres import rows

Row = Mapping[str, Any]

_FACT = (
    "thread", "tenant", "type", "actor", "idempotency_key", "correlation_id", "causation_id", "trace_id", "payload_hash",
    "hash",
)  # fmt: skip
_DEAD_LETTER = [f.name for f in fields(EventDeadLetter)]
_WAITING = [f.name for f in fields(WaitingEvent) if f.name != "event"]
_DELIVERY = [f.name for f in fields(Delivery)]
_COUNTED = ("position", "delivered", "failed", "parked", "open_dead_letters", "failures", "failing_since", "failing_with",
            "resume_at", "succeeded_at", "held_until")  # fmt: skip
_STRIDE = 100_000
_NEXT = 1000


def write_subscription(
    row: SubscriptionRow, fact: Fact, *, position: int | None = None, standing: bool = False
) -> Op[bool]:
    """Write a subscription with its fact; a new one, where ``position`` says from where it begins.

    ``standing``: only whether it is enabled, which is all that a relay may write.
    """
    params = {name: getattr(fact, name) for name in _FACT} | {
        "fact_seq": fact.seq, "fact_at": fact.at, "data": canonical_json(fact.data), "uid": row.uid, "name": row.name,
        "spec": canonical_json(row.spec.model_dump(mode="json")), "enabled": row.enabled, "created_at": row.created_at,
        "retired_at": row.retired_at, "position": position,
    }  # fmt: skip
    changed = "stand_subscription" if standing else "update_subscription"
    return bool((yield Statement(changed if position is None else "insert_subscription", params)))


def lock_subscription(tenant: int, *, name: str | None = None, uid: int | None = None) -> Op[SubscriptionRow | None]:
    """A subscription in use, locked until the transaction ends."""
    found = yield Statement("lock_subscription", {"tenant": tenant, "name": name, "uid": uid})
    return _subscription(found[0]) if found else None


def subscription_ever(tenant: int, uid: int) -> Op[SubscriptionRow | None]:
    """A subscription, in use or removed."""
    found = yield Statement("subscription_ever", {"tenant": tenant, "uid": uid})
    return _subscription(found[0]) if found else None


def prior_fact(tenant: int, name: str, types: Sequence[str], key: str) -> Op[Fact | None]:
    """The fact of these types that carries an idempotency key, of any subscription that has or had this name."""
    params = {"tenant": tenant, "name": name, "types": list(types), "key": key}
    found = yield Statement("prior_of_subscription", params)
    return rows.fact(found[0]) if found else None


def lock_name(tenant: int, name: str) -> Op[SubscriptionRow | None]:
    """The subscription of that name, locked; where there is none, nobody else makes it until the transaction ends."""
    found = yield from lock_subscription(tenant, name=name)
    if found is None:
        yield Statement("lock_tenant", {"uid": tenant})
        found = yield from lock_subscription(tenant, name=name)
    return found


def standings(tenant: int, written: int, name: str | None = None) -> Op[list[SubscriptionStanding]]:
    """All subscriptions in use by name, or one, with how far they are; ``written`` is the newest position."""
    answer = []
    for row in (yield Statement("subscriptions", {"tenant": tenant, "name": name})):
        oldest = (yield Statement("oldest_undelivered", {"uid": row["uid"], "tenant": tenant, "stride": _STRIDE}))[0]
        counted = {name: row[name] for name in _COUNTED}
        answer.append(SubscriptionStanding(
            subscription=_subscription(row), behind=max(0, written - row["position"]), oldest_at=oldest["at"],
            leader=row["holder"], keys=tuple(row["keys"] or ()), at=row["now"], **counted,
        ))  # fmt: skip
    return answer


def leavings() -> Op[dict[str, Leaving]]:
    """What of each registered fact type may leave."""
    rows = yield Statement("fact_types")
    return {row["type"]: Leaving(tuple(row["safe_fields"]), row["event_id_key"]) for row in rows}


def key_numbers(subscription: int) -> Op[list[tuple[int, bool]]]:
    """The numbers of all keys there ever were, and whether they are in use."""
    found = yield Statement("signing_key_numbers", {"subscription": subscription})
    return [(row["number"], row["used"]) for row in found]


def add_key(subscription: int, tenant: int, number: int, key: str, kept: int | None) -> Op[None]:
    """Keep a new key, and of those before only ``kept``."""
    params = {"subscription": subscription, "tenant": tenant, "number": number, "key": key, "kept": kept or 0}
    yield Statement("insert_signing_key", params)


def drop_keys(subscription: int, kept: int) -> Op[None]:
    """Keep one key alone."""
    yield Statement("drop_signing_key", {"subscription": subscription, "kept": kept})


def held_back(tenant: int, subscription: int) -> Op[datetime | None]:
    """When the first fact was told, among the next after its cursor, that a transaction holds back which began before it and has
    not ended; None where there is no such fact.
    """
    found = yield Statement("held_back", {"tenant": tenant, "uid": subscription, "stride": _NEXT})
    return found[0]["at"] if found else None


def waiting_events(tenant: int, subscription: int, limit: int, after: int) -> Op[list[WaitingEvent]]:
    """The events for which something waits, by position."""
    params = {"tenant": tenant, "subscription": subscription, "limit": limit, "after": after}
    return [_waiting(row) for row in (yield Statement("waiting_events", params))]


def waiting_event(tenant: int, subscription: int, thread: int, seq: int) -> Op[WaitingEvent | None]:
    """One of them, by the fact that it tells of."""
    params = {"tenant": tenant, "subscription": subscription, "thread": thread, "seq": seq}
    found = yield Statement("waiting_event", params)
    return _waiting(found[0]) if found else None


def mark_given_up(tenant: int, subscription: int, position: int, seq: int) -> Op[None]:
    """Let the relay give up what waits at a position; ``seq`` is the fact that says so."""
    params = {"tenant": tenant, "subscription": subscription, "position": position, "seq": seq}
    yield Statement("mark_given_up", params)


def park_alone(tenant: int, subscription: int, position: int, thread: int) -> Op[None]:
    """Let one event be sent once more, beside its thread."""
    params = {"tenant": tenant, "subscription": subscription, "position": position, "thread": thread}
    yield Statement("park_alone", params)


def dead_letters(
    tenant: int, subscription: int, limit: int, before: int, *, open_only: bool
) -> Op[list[EventDeadLetter]]:
    """Dead letters of a subscription, newest first."""
    params = {"tenant": tenant, "subscription": subscription, "limit": limit, "before": before}
    name = "open_event_dead_letters" if open_only else "event_dead_letters"
    return [_dead_letter(row) for row in (yield Statement(name, params))]


def dead_letter(tenant: int, uid: int) -> Op[EventDeadLetter | None]:
    """One dead letter."""
    found = yield Statement("event_dead_letter", {"tenant": tenant, "uid": uid})
    return _dead_letter(found[0]) if found else None


def resolve(tenant: int, uid: int, status: str, actor: str, reason: str | None, seq: int) -> Op[bool]:
    """Resolve a dead letter that is open; False where it is not any more."""
    params = {"tenant": tenant, "uid": uid, "status": status, "actor": actor, "reason": reason, "resolved_seq": seq}
    return bool((yield Statement("resolve_event_dead_letter", params)))


def deliveries(tenant: int, subscription: int, limit: int) -> Op[list[Delivery]]:
    """The latest attempts that failed, newest first."""
    params = {"tenant": tenant, "subscription": subscription, "limit": limit}
    return [Delivery(**{name: row[name] for name in _DELIVERY}) for row in (yield Statement("deliveries", params))]


def spec_of(plain: Any) -> SubscriptionSpec:
    """The specification of a row."""
    return SubscriptionSpec.model_validate(plain)


def _subscription(row: Row) -> SubscriptionRow:
    return SubscriptionRow(
        row["uid"], row["tenant"], row["name"], spec_of(row["spec"]), row["enabled"], row["created_at"],
        row["retired_at"], row["seq"], bytes(row["head"]),
    )  # fmt: skip


def _waiting(row: Row) -> WaitingEvent:
    event = f"{euid_of_thread(row['type'], row['thread'])}/{row['fact_seq']}"
    return WaitingEvent(event=event, **{name: row[name] for name in _WAITING})


def _dead_letter(row: Row) -> EventDeadLetter:
    return EventDeadLetter(**{name: row[name] for name in _DEAD_LETTER})
