"""Subscriptions: defined, changed, paused, removed, their keys changed, and tried out (design 05, Out)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.ledger import storage
from tenure.ledger.repeats import Asked, asked, told_before
from tenure.ledger.rows import Delivery, SubscriptionRow, SubscriptionStanding
from tenure.model import fact_types as ft
from tenure.model.errors import AlreadyExists, Conflict, InvalidRequest, NotFound
from tenure.model.fact import Fact
from tenure.model.signing import SigningKey
from tenure.model.subscription import SubscriptionSpec, Webhook
from tenure.store.operation import Op

_PREFIX = "tnk_"
_KEY_BYTES = 32
_HINT = "List them: tenure subscription list."


@dataclass(frozen=True, slots=True)
class Defined:
    """A subscription, and the key that its events are signed with where one was made: it is shown once.

    Where the request had been answered before (``replayed``), the subscription is as it stands now, and there is no key: whoever
    asks again is told the number of the one that was ``shown`` then.
    """

    subscription: SubscriptionRow
    key: SigningKey | None = None
    replayed: bool = False
    shown: int | None = None


def define_subscription(
    caller: Caller, spec: SubscriptionSpec, *, start: Literal["now", "beginning"] | int = "now",
    idempotency_key: str | None = None,
) -> Op[Defined]:  # fmt: skip
    """Define a subscription, or change the one of that name; the same again changes nothing.

    A new one is given a signing key, where its destination takes one, and begins with what is told from now on, with the
    first fact there is, or behind a position of the ledger. Raises InvalidRequest for a fact type that nobody registered, and
    for the URL of a webhook whose host can be no name.
    A request that comes again under its key changes nothing, as with all that follow; IdempotencyConflict where it asks for
    something else.
    """
    what = {"spec": spec.model_dump(mode="json"), "start": start}
    ask = asked(idempotency_key, "define_subscription", **what)
    op = caller.store.transaction(_define(caller, spec, start, ask))
    return told(caller, "define_subscription", op, _described, idempotency_key=idempotency_key)


def set_enabled(
    caller: Caller, name: str, enabled: bool, reason: str | None = None, *, idempotency_key: str | None = None
) -> Op[SubscriptionRow]:
    """Let a subscription rest, or go on from where it stands: what was told meanwhile is sent then."""
    ask = asked(idempotency_key, "set_enabled", enabled=enabled, reason=reason)
    op = caller.store.transaction(_set_enabled(caller, name, enabled, reason, ask))
    return told(caller, "change_subscription", op, lambda row: {"seq": row.seq}, idempotency_key=idempotency_key)


def remove_subscription(
    caller: Caller, name: str, reason: str | None = None, *, idempotency_key: str | None = None
) -> Op[SubscriptionRow]:
    """Take a subscription out of use for good; its history stays. One defined anew under the name begins anew."""
    op = caller.store.transaction(_remove(caller, name, reason, asked(idempotency_key, "remove", reason=reason)))
    return told(caller, "remove_subscription", op, lambda row: {"seq": row.seq}, idempotency_key=idempotency_key)


def rotate_key(
    caller: Caller, name: str, *, drop_former: bool = False, idempotency_key: str | None = None
) -> Op[Defined]:
    """Give a subscription a new signing key. Events are signed with the former one as well, until it is dropped.

    With ``drop_former`` no new one is made: the newest alone stays.
    """
    ask = asked(idempotency_key, "rotate_signing_key", drop_former=drop_former)
    op = caller.store.transaction(_rotate(caller, name, drop_former, ask))
    return told(caller, "rotate_signing_key", op, _described, idempotency_key=idempotency_key)


def send_test(caller: Caller, name: str, *, idempotency_key: str | None = None) -> Op[Fact]:
    """Tell a fact that this subscription alone is sent, on the way that all its events go; answers with it."""
    op = caller.store.transaction(_send_test(caller, name, asked(idempotency_key, "test_subscription")))
    return told(caller, "test_subscription", op, lambda fact: {"seq": fact.seq}, idempotency_key=idempotency_key)


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
    row, _ = yield from locked_for(caller, name, (), None)
    return row


def locked_for(
    caller: Caller, name: str, types: Sequence[str], ask: Asked | None
) -> Op[tuple[SubscriptionRow, Fact | None]]:
    """A subscription, locked until the transaction ends; where the request came before, with the fact of then, and it may be one
    that was removed since. Raises NotFound, IdempotencyConflict.
    """
    row = yield from storage.lock_subscription(caller.tenant, name=name)
    before = yield from told_before(caller, name, types, ask)
    if before is not None and (row is None or row.uid != before.thread):
        row = yield from storage.subscription_ever(caller.tenant, before.thread)
    if row is None:
        raise _unknown(name)
    return row, before


def append(
    caller: Caller, row: SubscriptionRow, type_: str, data: Mapping[str, Any], *, position: int | None = None,
    ask: Asked | None = None, standing: bool = False,
) -> Op[tuple[SubscriptionRow, Fact]]:  # fmt: skip
    """Write a subscription as it stands with the fact that tells of it, and of what was asked where that has a key.

    ``standing``: only whether it is enabled is written, beside the fact.
    """
    now = yield from caller.store.clock()
    fact = Fact(row.uid, row.seq + 1, type_, now, caller.tenant, caller.actor, data=dict(data))
    if ask is not None:
        fact.idempotency_key, fact.payload_hash = ask.key, ask.proof
    fact.hash = fact.content_hash(row.head)
    if not (yield from storage.write_subscription(row, fact, position=position, standing=standing)):
        raise Conflict(f"Subscription {row.name!r} was changed meanwhile.", "Read it and decide anew.")
    return replace(row, seq=fact.seq, head=fact.hash), fact


def _described(made: Defined) -> dict[str, Any]:
    return {"seq": made.subscription.seq} | ({"outcome": "replayed"} if made.replayed else {})


def _define(
    caller: Caller, spec: SubscriptionSpec, start: Literal["now", "beginning"] | int, ask: Asked | None
) -> Op[Defined]:
    yield from _known_types(spec)
    _check_host(spec)
    there = yield from storage.lock_name(caller.tenant, spec.name)
    before = yield from told_before(caller, spec.name, (ft.SUBSCRIPTION_DEFINED, ft.SUBSCRIPTION_CHANGED), ask)
    if before is not None:
        return (yield from _again(caller, there, before))
    if there is not None:
        if start != "now":
            raise AlreadyExists(
                f"There is a subscription {spec.name!r} already, and where it stands is not changed.",
                "Remove it first, or choose another name.",
            )
        if there.spec == spec and ask is None:
            return Defined(there)
        if there.spec.group_by != spec.group_by:
            raise Conflict(
                f"Subscription {spec.name!r} groups its events by {there.spec.group_by}, and that is not changed.",
                "Define another, or remove this one first: --start says where the new one begins.",
            )
        changed = replace(there, spec=spec)
        unsigned = spec.destination.kind != "webhook" or there.spec.destination.kind == "webhook"
        numbers = [] if unsigned else (yield from storage.key_numbers(there.uid))
        data = {"set": spec.told()} | ({} if unsigned else {"number": _next(numbers)})
        written, _ = yield from append(caller, changed, ft.SUBSCRIPTION_CHANGED, data, ask=ask)
        return Defined(written, None if unsigned else (yield from _new_key(written, numbers)))
    return (yield from _first(caller, spec, start, ask))


def _again(caller: Caller, row: SubscriptionRow | None, before: Fact) -> Op[Defined]:
    """The answer to a request that came before: its key was shown then, and nobody is shown it again."""
    if row is None or row.uid != before.thread:
        row = yield from storage.subscription_ever(caller.tenant, before.thread)
    assert row is not None
    return Defined(row, replayed=True, shown=(before.data or {}).get("number"))


def _first(
    caller: Caller, spec: SubscriptionSpec, start: Literal["now", "beginning"] | int, ask: Asked | None
) -> Op[Defined]:
    now = yield from caller.store.clock()
    uid = (yield from caller.store.fresh_uids(1))[0]
    position = start if isinstance(start, int) else 0
    if start == "now":
        position = yield from caller.store.ledger_written()
    row = SubscriptionRow(uid, caller.tenant, spec.name, spec, True, now)
    signed = spec.destination.kind == "webhook"
    data = {"name": spec.name, "spec": spec.told(), "position": position} | ({"number": 1} if signed else {})
    written, _ = yield from append(caller, row, ft.SUBSCRIPTION_DEFINED, data, position=position, ask=ask)
    return Defined(written, (yield from _new_key(written, [])) if signed else None)


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


def _check_host(spec: SubscriptionSpec) -> None:
    if isinstance(spec.destination, Webhook) and not spec.destination.findable:
        raise InvalidRequest(
            f"What {spec.destination.origin} names is no name of a host.",
            "Correct the URL: between its dots stand 1 to 63 characters, 253 in all.",
        )


def _set_enabled(
    caller: Caller, name: str, enabled: bool, reason: str | None, ask: Asked | None
) -> Op[SubscriptionRow]:
    row, before = yield from locked_for(caller, name, (ft.SUBSCRIPTION_DEFINED, ft.SUBSCRIPTION_CHANGED), ask)
    # With a key there is a fact even where nothing changes: else the request could do something when it comes again.
    if before is not None or (row.enabled == enabled and ask is None):
        return row
    data: dict[str, Any] = {"set": {"enabled": enabled}} | ({"reason": reason} if reason else {})
    written, _ = yield from append(caller, replace(row, enabled=enabled), ft.SUBSCRIPTION_CHANGED, data, ask=ask)
    return written


def _remove(caller: Caller, name: str, reason: str | None, ask: Asked | None) -> Op[SubscriptionRow]:
    row, before = yield from locked_for(caller, name, (ft.SUBSCRIPTION_REMOVED,), ask)
    if before is not None:
        return row
    now = yield from caller.store.clock()
    gone = replace(row, enabled=False, retired_at=now)
    data = {"reason": reason} if reason else {}
    written, _ = yield from append(caller, gone, ft.SUBSCRIPTION_REMOVED, data, ask=ask)
    yield from storage.drop_keys(row.uid, 0)
    return written


def _rotate(caller: Caller, name: str, drop_former: bool, ask: Asked | None) -> Op[Defined]:
    row, before = yield from locked_for(caller, name, (ft.SUBSCRIPTION_KEY_ROTATED,), ask)
    if before is not None:
        return Defined(row, replayed=True, shown=None if drop_former else (before.data or {}).get("number"))
    if row.spec.destination.kind != "webhook":
        raise InvalidRequest(f"What subscription {name!r} sends is not signed.", "Only webhooks have keys.")
    numbers = yield from storage.key_numbers(row.uid)
    newest = max(number for number, _ in numbers)
    kept = [newest] if drop_former else [newest, newest + 1]
    data = {"number": kept[-1], "kept": kept}
    written, _ = yield from append(caller, row, ft.SUBSCRIPTION_KEY_ROTATED, data, ask=ask)
    if drop_former:
        yield from storage.drop_keys(row.uid, newest)
        return Defined(written)
    return Defined(written, (yield from _new_key(written, numbers)))


def _new_key(row: SubscriptionRow, numbers: list[tuple[int, bool]]) -> Op[SigningKey]:
    key = SigningKey(_next(numbers), _PREFIX + secrets.token_urlsafe(_KEY_BYTES))
    yield from storage.add_key(row.uid, row.tenant, key.number, key.text, key.number - 1)
    return key


def _next(numbers: list[tuple[int, bool]]) -> int:
    return max((number for number, _ in numbers), default=0) + 1


def _send_test(caller: Caller, name: str, ask: Asked | None) -> Op[Fact]:
    row, before = yield from locked_for(caller, name, (ft.SUBSCRIPTION_TESTED,), ask)
    if before is not None:
        return before
    if not row.enabled:
        raise Conflict(f"Subscription {name!r} rests.", f"Let it go on first: tenure subscription resume {name}.")
    _, fact = yield from append(caller, row, ft.SUBSCRIPTION_TESTED, {}, ask=ask)
    return (yield from caller.store.facts(row.uid, fact.seq - 1, 1))[0]


def _unknown(name: str) -> NotFound:
    return NotFound(f"There is no subscription {name!r}.", _HINT)
