"""What a relay reads and writes of subscriptions. It acts for all tenants, above the wall between them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import datetime
from typing import Any

from tenure.engine.caller import Caller
from tenure.ledger import storage
from tenure.ledger.rows import Delivery, Parked, Watched
from tenure.ledger.subscriptions import append
from tenure.model import fact_types as ft
from tenure.model.delivery import Receiver, Verdict
from tenure.model.errors import Conflict
from tenure.model.fact import Fact
from tenure.model.signing import SigningKey
from tenure.store.operation import Op, Statement
from tenure.store.port import Store
from tenure.store.postgres import rows

ACTOR = "service:relay"
_PARKED = [f.name for f in fields(Parked)]
_AS_READ = ("uid", "tenant", "tenant_key", "seq", "position", "fence", "failures", "failing_since", "failing_with", "resume_at",
            "succeeded_at", "moved_at", "parked", "due_at", "given_up", "holder", "now")  # fmt: skip
#: Positions that one statement walks over at most: those of other tenants are among them.
_STRIDE = 50_000


class Fenced(Conflict):
    """Another process leads the subscription by now; what this one was about to write down, it did not."""

    code = "fenced"


@dataclass(slots=True)
class Page:
    """Events in order, and the position up to which they are all there are; the groups of their threads, as far as in one."""

    facts: list[Fact]
    reached: int
    groups: dict[int, str]


@dataclass(slots=True)
class Behind:
    """What waits of a thread or a group: the first events of it, and the one behind them, where there are more."""

    facts: list[Fact]
    rest: Fact | None = None


@dataclass(slots=True)
class Given:
    """An event that is given up."""

    fact: Fact
    verdict: Verdict
    attempts: int
    first_failed_at: datetime
    asked_seq: int | None = None
    """Where a person gave it up: the fact of the subscription that says so."""


@dataclass(slots=True)
class Settlement:
    """What one turn came to, to be written down at once."""

    position: int
    receiver: Receiver
    delivered: int = 0
    failed: list[Delivery] = field(default_factory=list)
    parked: list[Parked] = field(default_factory=list)
    unparked: list[int] = field(default_factory=list)
    held: list[tuple[str, int]] = field(default_factory=list)
    """Events that the cursor went past while their group waits: its key, and their positions."""
    released: dict[str, int] = field(default_factory=dict)
    """The position up to which the events of a group are not held any more."""
    given_up: list[Given] = field(default_factory=list)
    back: bool = False
    """Whether the receiver is back: then all that waits is due."""
    stopped: bool = False
    """Whether the subscription stops over what was given up last."""


def watch(tenant: int | None) -> Op[list[Watched]]:
    """All subscriptions that deliver, of one tenant or of all."""
    return [
        Watched(
            spec=storage.spec_of(row["spec"]), types=tuple(row["types"]), held_until=row["expires_at"],
            queues=tuple(row["queues"]) if row["queues"] is not None else None, **{name: row[name] for name in _AS_READ},
        )
        for row in (yield Statement("relay_watch", {"tenant": tenant}))
    ]  # fmt: skip


def lead(watched: Watched, holder: str, ttl: float) -> Op[int | None]:
    """Take the lease of a subscription for ``ttl`` seconds and fence its cursor; the token, or None where it is held."""
    params = {"subscription": watched.uid, "tenant": watched.tenant, "holder": holder, "ttl": ttl}
    found = yield Statement("relay_lead", params)
    return found[0]["fence"] if found else None


def renew(names: Sequence[int], holder: str, ttl: float) -> Op[set[int]]:
    """Renew leases of these subscriptions; those that are still held."""
    found = yield Statement("relay_renew", {"names": _names(names), "holder": holder, "ttl": ttl})
    return {int(row["name"].rpartition("/")[2]) for row in found}


def let_go(names: Sequence[int], holder: str) -> Op[None]:
    """End the leases of these subscriptions."""
    yield Statement("relay_let_go", {"names": _names(names), "holder": holder})


def keys(subscription: int) -> Op[list[SigningKey]]:
    """What the events of a subscription are signed with."""
    found = yield Statement("signing_keys", {"subscription": subscription})
    return [SigningKey(row["number"], row["key"]) for row in found]


def page(watched: Watched, after: int, up_to: int, limit: int) -> Op[Page]:
    """Events behind a position in order, ``limit`` at most."""
    end = min(up_to, after + _STRIDE)
    grouped = watched.spec.group_by == "correlation"
    params = _wanted(watched) | {"after": after, "up_to": end, "limit": limit, "grouped": grouped}
    found = yield Statement("wanted_facts", params)
    facts = [rows.fact(row) for row in found]
    groups = {row["thread"]: row["group_key"] for row in found if row["group_key"] is not None}
    return Page(facts, (facts[-1].position or end) if len(facts) == limit else end, groups)


def behind(watched: Watched, row: Parked, cursor: int, limit: int) -> Op[Behind]:
    """What waits of a thread or a group, from its head on up to the cursor, in order."""
    up_to = row.position if row.alone else max(cursor, row.position)
    params = _wanted(watched) | {"begin": row.position, "limit": limit + 1}
    if row.group_key is None:
        found = yield Statement("wanted_of_thread", params | {"thread": row.thread, "up_to": up_to})
    else:
        found = yield Statement("wanted_of_group", params | {"group_key": row.group_key})
    facts = [(rows.fact(each), each["wanted"]) for each in found]
    return Behind([fact for fact, wanted in facts[:limit] if wanted], facts[limit][0] if len(facts) > limit else None)


def waiting(subscription: int) -> Op[set[int | str]]:
    """The threads and groups of a subscription that wait."""
    found = yield Statement("parked_lines", {"subscription": subscription})
    return {row["thread"] if row["group_key"] is None else row["group_key"] for row in found}


def due(subscription: int, limit: int) -> Op[list[Parked]]:
    """What waited of a subscription and is due, the first that fell due first."""
    found = yield Statement("parked_due", {"subscription": subscription, "limit": limit})
    return [Parked(**{name: row[name] for name in _PARKED}) for row in found]


def given_up_by_hand(subscription: int, limit: int) -> Op[list[Parked]]:
    """What waits of a subscription and was given up by a person."""
    found = yield Statement("given_up_by_hand", {"subscription": subscription, "limit": limit})
    return [Parked(**{name: row[name] for name in _PARKED}) for row in found]


def settle(store: Store, watched: Watched, fence: int, settlement: Settlement) -> Op[None]:
    """Write down what a turn came to, all of it or nothing. Raises Fenced where another leads by now."""
    caller = Caller(store, watched.tenant, ACTOR, watched.tenant_key)
    return store.transaction(_settle(caller, watched, fence, settlement))


def _settle(caller: Caller, watched: Watched, fence: int, done: Settlement) -> Op[None]:
    receiver, of = done.receiver, {"subscription": watched.uid, "tenant": watched.tenant}
    moved = yield Statement("move_cursor", of | {
        "position": done.position, "delivered": done.delivered, "failed": len(done.failed), "fence": fence,
        "failures": receiver.failures, "failing_since": receiver.failing_since, "failing_with": receiver.failing_with,
        "resume_at": receiver.resume_at, "succeeded_at": receiver.succeeded_at,
    })  # fmt: skip
    if not moved:
        raise Fenced("Another relay leads this subscription by now.", "It goes on from where the cursor stands.")
    if done.failed:
        yield Statement("insert_deliveries", of | {"deliveries": _json(done.failed)})
    if done.unparked:
        yield Statement("unpark", of | {"positions": done.unparked})
    if done.released:
        ends = {"groups": list(done.released), "ends": list(done.released.values())}
        yield Statement("release_held", of | ends)
    if done.held:
        groups, positions = zip(*done.held, strict=True)
        yield Statement("hold_events", of | {"groups": list(groups), "positions": list(positions)})
    if done.back:
        yield Statement("parked_at_once", of)
    if done.parked:
        yield Statement("park", of | {"parked": _json(done.parked)})
    if done.given_up:
        yield from _give_up(caller, watched, done)


def _give_up(caller: Caller, watched: Watched, done: Settlement) -> Op[None]:
    """Dead letters are told in the thread of their subscription; those of events about subscriptions are not."""
    positions = [given.fact.position for given in done.given_up]
    found = yield Statement("open_at", {"subscription": watched.uid, "positions": positions})
    there = {row["position"] for row in found}
    given_up = [given for given in done.given_up if given.fact.position not in there]
    row = yield from storage.lock_subscription(watched.tenant, uid=watched.uid)
    if row is None:  # removed meanwhile: nobody is told any more
        return
    uids = yield from caller.store.fresh_uids(len(given_up))
    for given, uid in zip(given_up, uids, strict=True):
        fact, verdict, told_at = given.fact, given.verdict, None
        if not fact.type.startswith("subscription."):
            data = {"dead_letter": uid, "position": fact.position, "code": verdict.code, "attempts": given.attempts}
            data |= {"asked_seq": given.asked_seq} if given.asked_seq is not None else {}
            row, told = yield from append(caller, row, ft.EVENT_DEAD_LETTERED, data, standing=True)
            told_at = told.seq
        yield Statement("insert_event_dead_letter", {
            "uid": uid, "tenant": watched.tenant, "subscription": watched.uid, "position": fact.position,
            "thread": fact.thread, "fact_seq": fact.seq, "type": fact.type, "code": verdict.code,
            "http_status": verdict.status, "attempts": given.attempts, "first_failed_at": given.first_failed_at,
            "opened_seq": told_at,
        })  # fmt: skip
    if done.stopped and uids and row.enabled:
        stopped = {"dead_letter": uids[-1], "code": given_up[-1].verdict.code}
        yield from append(caller, replace(row, enabled=False), ft.SUBSCRIPTION_STOPPED, stopped, standing=True)


def _wanted(watched: Watched) -> dict[str, Any]:
    queues = list(watched.queues) if watched.queues is not None else None
    return {"tenant": watched.tenant, "subscription": watched.uid, "types": list(watched.types), "queues": queues}


def _names(subscriptions: Sequence[int]) -> list[str]:
    return [f"relay/{uid}" for uid in subscriptions]


def _json(values: Iterable[Any]) -> str:
    return json.dumps([asdict(value) for value in values], default=_text)


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
