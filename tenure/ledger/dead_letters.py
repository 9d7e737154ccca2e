"""Events that one subscription gave up: a person sends them again or ignores them (design 05, Out; S4 section 8.4)."""

from __future__ import annotations

from typing import Any

from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.ledger import storage
from tenure.ledger.repeats import Asked, asked
from tenure.ledger.rows import EventDeadLetter
from tenure.ledger.subscriptions import append, locked_for, subscription
from tenure.model import euid
from tenure.model import fact_types as ft
from tenure.model.errors import Conflict, NotFound
from tenure.store.operation import Op

_LAST = 2**63 - 1


def dead_letters(
    caller: Caller, name: str, *, open_only: bool = True, limit: int = 50, before: int | None = None
) -> Op[list[EventDeadLetter]]:
    """The dead letters of a subscription, newest first, keyset-paged by uid."""
    found = yield from subscription(caller, name)
    uid = found.subscription.uid
    return (yield from storage.dead_letters(caller.tenant, uid, limit, before or _LAST, open_only=open_only))


def redeliver(
    caller: Caller, name: str, dead_letter: int, reason: str | None = None, *, idempotency_key: str | None = None
) -> Op[EventDeadLetter]:
    """Send an event once more that was given up; where that fails, there is a new dead letter.

    It goes beside its thread, which has gone on. Raises Conflict where the dead letter is resolved already, unless it was by this
    request, under its key; IdempotencyConflict where the key stands for another.
    """
    return _resolved(caller, name, dead_letter, "REDELIVERED", reason, idempotency_key)


def ignore(
    caller: Caller, name: str, dead_letter: int, reason: str, *, idempotency_key: str | None = None
) -> Op[EventDeadLetter]:
    """Decide that an event is not sent to this subscription any more. Errors as of ``redeliver``."""
    return _resolved(caller, name, dead_letter, "IGNORED", reason, idempotency_key)


def _resolved(
    caller: Caller, name: str, uid: int, status: str, reason: str | None, key: str | None
) -> Op[EventDeadLetter]:
    ask = asked(key, "resolve_event_dead_letter", dead_letter=uid, status=status, reason=reason)
    op = caller.store.transaction(_resolve(caller, name, uid, status, reason, ask))
    return told(
        caller, "resolve_event_dead_letter", op, lambda letter: {"terminal_status": letter.status}, idempotency_key=key
    )


def _resolve(
    caller: Caller, name: str, uid: int, status: str, reason: str | None, ask: Asked | None
) -> Op[EventDeadLetter]:
    row, before = yield from locked_for(caller, name, (ft.EVENT_DEAD_LETTER_RESOLVED,), ask)
    letter = yield from storage.dead_letter(caller.tenant, uid)
    if before is not None and letter is not None:
        return letter
    if letter is None or letter.subscription != row.uid:
        raise NotFound(
            f"Subscription {name!r} has no such dead letter.", f"List them: tenure subscription deadletters {name}."
        )
    if letter.status != "OPEN":
        raise Conflict(
            f"Dead letter {euid.format_euid(euid.EVENT_DEAD_LETTER, uid)} is {letter.status} already.",
            "It is resolved once; an event that fails again is a new dead letter.",
        )
    data: dict[str, Any] = {"dead_letter": uid, "resolution": status} | ({"reason": reason} if reason else {})
    _, fact = yield from append(caller, row, ft.EVENT_DEAD_LETTER_RESOLVED, data, ask=ask)
    yield from storage.resolve(caller.tenant, uid, status, caller.actor, reason, fact.seq)
    if status == "REDELIVERED":
        yield from storage.park_alone(caller.tenant, row.uid, letter.position, letter.thread)
    resolved = yield from storage.dead_letter(caller.tenant, uid)
    assert resolved is not None
    return resolved
