"""Subscriptions: defined, changed, paused, removed, their keys changed, and tried out (design 05, Out)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.ledger import storage
from tenure.ledger.rows import Delivery, SubscriptionRow, SubscriptionStanding
from tenure.model import fact_types as ft
from tenure.model.errors import AlreadyExists, Conflict, InvalidRequest, NotFound
from tenure.model.fact import Fact
from tenure.model.signing import SigningKey
from tenure.model.subscription import SubscriptionSpec
from tenure.store.operation import Op

_PREFIX = "tnk_"
_KEY_BYTES = 32
_HINT = "List them: tenure subscription list."


@dataclass(frozen=True, slots=True)
class Defined:
    """A subscription, and the key that its events are signed with where one was made: it is shown once."""

    subscription: SubscriptionRow
    key: SigningKey | None = None


def define_subscription(
    caller: Caller, spec: SubscriptionSpec, *, start: Literal["now", "beginning"] | int = "now"
) -> Op[Defined]:
    """Define a subscription, or change the one of that name; the same again changes nothing.

    A new one is given a signing key, where its destination takes one, and begins with what is told from now on, with the
    first fact there is, or behind a position of the ledger. Raises InvalidRequest for a fact type that nobody registered.
    """
    op = caller.store.transaction(_define(caller, spec, start))
    return told(caller, "define_subscription", op, lambda made: {"seq": made.subscription.seq})


def set_enabled(caller: Caller, name: str, enabled: bool, reason: str | None = None) -> Op[SubscriptionRow]:
    """Let a subscription rest, or go on from where it stands: what was told meanwhile is sent then."""
    op = caller.store.transaction(_set_enabled(caller, name, enabled, reason))
    return told(caller, "change_subscription", op, lambda row: {"seq": row.seq})


def remove_subscription(caller: Caller, name: str, reason: str | None = None) -> Op[SubscriptionRow]:
    """Take a subscription out of use for good; its history stays. One defined anew under the name begins anew."""
    op = caller.store.transaction(_remove(caller, name, reason))
    return told(caller, "remove_subscription", op, lambda row: {"seq": row.seq})


def rotate_key(caller: Caller, name: str, *, drop_former: bool = False) -> Op[Defined]:
    """Give a subscription a new signing key. Events are signed with the former one as well, until it is dropped.

    With ``drop_former`` no new one is made: the newest alone stays.
    """
    op = caller.store.transaction(_rotate(caller, name, drop_former))
    return told(caller, "rotate_signing_key", op, lambda made: {"seq": made.subscription.seq})


def send_test(caller: Caller, name: str) -> Op[Fact]:
    """Tell a fact that this subscription alone is sent, on the way that all its events go; answers with it."""
    op = caller.store.transaction(_send_test(caller, name))
    return told(caller, "test_subscription", op, lambda fact: {"seq": fact.seq})


def subscriptions(caller: Caller) -> Op[list[SubscriptionStanding]]:
    """All subscriptions in use, by name, with how far each has come."""
    written = yield from caller.store.ledger_written()
    return (yield from storage.standings(caller.tenant, written))


def subscription(caller: Caller, name: str) -> Op[SubscriptionStanding]:
    """One of them. Raises NotFound."""
    written = yield from caller.store.ledger_written()
    found = yield from storage.standings(caller.tenant, written, name)
    if not found:
        raise _unknown(name)
    return found[0]


def failed_deliveries(caller: Caller, name: str, limit: int = 20) -> Op[list[Delivery]]:
    """The latest attempts of a subscription that failed, newest first."""
    found = yield from subscription(caller, name)
    return (yield from storage.deliveries(caller.tenant, found.subscription.uid, limit))


def locked(caller: Caller, name: str) -> Op[SubscriptionRow]:
    """A subscription in use, locked until the transaction ends. Raises NotFound."""
    row = yield from storage.lock_subscription(caller.tenant, name=name)
    if row is None:
        raise _unknown(name)
    return row


def append(
    caller: Caller, row: SubscriptionRow, type_: str, data: Mapping[str, Any], *, position: int | None = None
) -> Op[tuple[SubscriptionRow, Fact]]:
    """Write a subscription as it stands with the fact that tells of it."""
    now = yield from caller.store.clock()
    fact = Fact(row.uid, row.seq + 1, type_, now, caller.tenant, caller.actor, data=dict(data))
    fact.hash = fact.content_hash(row.head)
    if not (yield from storage.write_subscription(row, fact, position=position)):
        raise Conflict(f"Subscription {row.name!r} was changed meanwhile.", "Read it and decide anew.")
    return replace(row, seq=fact.seq, head=fact.hash), fact


def _define(caller: Caller, spec: SubscriptionSpec, start: Literal["now", "beginning"] | int) -> Op[Defined]:
    yield from _known_types(spec)
    there = yield from storage.lock_name(caller.tenant, spec.name)
    if there is not None:
        if start != "now":
            raise AlreadyExists(
                f"There is a subscription {spec.name!r} already, and where it stands is not changed.",
                "Remove it first, or choose another name.",
            )
        if there.spec == spec:
            return Defined(there)
        if there.spec.group_by != spec.group_by:
            raise Conflict(
                f"Subscription {spec.name!r} groups its events by {there.spec.group_by}, and that is not changed.",
                "Define another, or remove this one first: --start says where the new one begins.",
            )
        changed = replace(there, spec=spec)
        written, _ = yield from append(caller, changed, ft.SUBSCRIPTION_CHANGED, {"set": spec.told()})
        key = None
        if spec.destination.kind == "webhook" and there.spec.destination.kind != "webhook":
            key = yield from _new_key(written, (yield from storage.key_numbers(written.uid)))
        return Defined(written, key)
    return (yield from _first(caller, spec, start))


def _first(caller: Caller, spec: SubscriptionSpec, start: Literal["now", "beginning"] | int) -> Op[Defined]:
    now = yield from caller.store.clock()
    uid = (yield from caller.store.fresh_uids(1))[0]
    position = start if isinstance(start, int) else 0
    if start == "now":
        position = yield from caller.store.ledger_written()
    row = SubscriptionRow(uid, caller.tenant, spec.name, spec, True, now)
    data = {"name": spec.name, "spec": spec.told(), "position": position}
    written, _ = yield from append(caller, row, ft.SUBSCRIPTION_DEFINED, data, position=position)
    key = (yield from _new_key(written, [])) if spec.destination.kind == "webhook" else None
    return Defined(written, key)


def _known_types(spec: SubscriptionSpec) -> Op[None]:
    known = yield from storage.leavings()
    words = {name.partition(".")[0] for name in known}
    for pattern in spec.filter.types:
        first, _, rest = pattern.partition(".")
        if pattern != "*" and (first not in words if rest == "*" else pattern not in known):
            raise InvalidRequest(
                f"There is no fact type {pattern!r}.", "Name one that is registered, run.* for all of a kind, * for all.",
                known=sorted(known),
            )  # fmt: skip


def _set_enabled(caller: Caller, name: str, enabled: bool, reason: str | None) -> Op[SubscriptionRow]:
    row = yield from locked(caller, name)
    if row.enabled == enabled:
        return row
    data: dict[str, Any] = {"set": {"enabled": enabled}} | ({"reason": reason} if reason else {})
    written, _ = yield from append(caller, replace(row, enabled=enabled), ft.SUBSCRIPTION_CHANGED, data)
    return written


def _remove(caller: Caller, name: str, reason: str | None) -> Op[SubscriptionRow]:
    row = yield from locked(caller, name)
    now = yield from caller.store.clock()
    gone = replace(row, enabled=False, retired_at=now)
    written, _ = yield from append(caller, gone, ft.SUBSCRIPTION_REMOVED, {"reason": reason} if reason else {})
    yield from storage.drop_keys(row.uid, 0)
    return written


def _rotate(caller: Caller, name: str, drop_former: bool) -> Op[Defined]:
    row = yield from locked(caller, name)
    if row.spec.destination.kind != "webhook":
        raise InvalidRequest(f"What subscription {name!r} sends is not signed.", "Only webhooks have keys.")
    numbers = yield from storage.key_numbers(row.uid)
    newest = max(number for number, _ in numbers)
    kept = [newest] if drop_former else [newest, newest + 1]
    data = {"number": kept[-1], "kept": kept}
    written, _ = yield from append(caller, row, ft.SUBSCRIPTION_KEY_ROTATED, data)
    if drop_former:
        yield from storage.drop_keys(row.uid, newest)
        return Defined(written)
    return Defined(written, (yield from _new_key(written, numbers)))


def _new_key(row: SubscriptionRow, numbers: list[tuple[int, bool]]) -> Op[SigningKey]:
    newest = max((number for number, _ in numbers), default=0)
    key = SigningKey(newest + 1, _PREFIX + secrets.token_urlsafe(_KEY_BYTES))
    yield from storage.add_key(row.uid, row.tenant, key.number, key.text, newest)
    return key


def _send_test(caller: Caller, name: str) -> Op[Fact]:
    row = yield from locked(caller, name)
    if not row.enabled:
        raise Conflict(f"Subscription {name!r} rests.", f"Let it go on first: tenure subscription resume {name}.")
    _, fact = yield from append(caller, row, ft.SUBSCRIPTION_TESTED, {})
    return (yield from caller.store.facts(row.uid, fact.seq - 1, 1))[0]


def _unknown(name: str) -> NotFound:
    return NotFound(f"There is no subscription {name!r}.", _HINT)
