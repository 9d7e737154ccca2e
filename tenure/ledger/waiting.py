"""What waits of a subscription, event by event; and giving one up by hand (design 05, Out; docs/decisions/0018)."""

from __future__ import annotations

from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.ledger import storage
from tenure.ledger.repeats import Asked, asked
from tenure.ledger.rows import GivenUp, WaitingEvent
from tenure.ledger.subscriptions import append, locked_for, subscription
from tenure.model import euid
from tenure.model import fact_types as ft
from tenure.model.errors import Conflict, InvalidRequest, NotFound
from tenure.model.fact import Fact
from tenure.store.operation import Op

ACTION = "give_up_event"
_DIGITS = 9


def waiting_events(caller: Caller, name: str, *, limit: int = 50, after: int = 0) -> Op[list[WaitingEvent]]:
    """The events for which threads and groups wait, by their place in the ledger, keyset-paged by it. Raises NotFound."""
    found = yield from subscription(caller, name)
    return (yield from storage.waiting_events(caller.tenant, found.subscription.uid, limit, after))


def give_up(caller: Caller, name: str, event: str, reason: str, *, idempotency_key: str | None = None) -> Op[GivenUp]:
    """Dead-letter an event that waits, by hand: the relay does it at its next turn, without sending it once more, and what waits
    behind it goes on.

    ``event`` is what ``WaitingEvent.event`` says: the EUID of its thread, a slash, its number there. Who and why are kept as a
    fact at once; the dead letter can be sent again or ignored as any. Where the event gets through at this moment, there is none.
    Raises NotFound where it does not wait, Conflict where it is to be given up already, IdempotencyConflict.
    """
    thread, seq = _parts(event)
    ask = asked(idempotency_key, ACTION, event=event, reason=reason)
    op = caller.store.transaction(_give_up(caller, name, thread, seq, event, reason, ask))
    return told(caller, ACTION, op, lambda _: {}, idempotency_key=idempotency_key)


def _give_up(
    caller: Caller, name: str, thread: int, seq: int, event: str, reason: str, ask: Asked | None
) -> Op[GivenUp]:
    row, before = yield from locked_for(caller, name, (ft.GIVE_UP_REQUESTED,), ask)
    if before is not None:
        return _given_up(before)
    found = yield from storage.waiting_event(caller.tenant, row.uid, thread, seq)
    if found is None:
        raise NotFound(
            f"No event {event} waits for subscription {name!r}.",
            f"List what waits: tenure subscription waiting {name}. What waits behind another is given up once it is its turn.",
        )
    if found.give_up_seq is not None:
        raise Conflict(f"Event {event} is to be given up already.", "The relay does it at its next turn.")
    data = {"position": found.position, "event": found.event, "reason": reason}
    _, fact = yield from append(caller, row, ft.GIVE_UP_REQUESTED, data, ask=ask)
    yield from storage.mark_given_up(caller.tenant, row.uid, found.position, fact.seq)
    return _given_up(fact)


def _given_up(fact: Fact) -> GivenUp:
    data = fact.data or {}
    return GivenUp(fact.thread, data["event"], data["reason"], fact.actor, fact.at)


def _parts(event: str) -> tuple[int, int]:
    about, slash, seq = event.partition("/")
    if not slash or not seq.isascii() or not seq.isdecimal() or len(seq) > _DIGITS:
        raise InvalidRequest(f"{event!r} names no event.", "An event is an EUID and a number: SX-1T8Z/3.")
    return euid.parse_euid(about), int(seq)
