"""What an admin does to subscriptions and to the events that they gave up (design 05, Out)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tenure.engine.caller import Caller
from tenure.ledger import dead_letters, subscriptions, waiting
from tenure.ledger.rows import EventDeadLetter
from tenure.model import euid
from tenure.model.errors import TenureError
from tenure.model.roles import Permission
from tenure.store.operation import Op
from tenure.ui import places
from tenure.ui.actions.action import Action, Done, Values, given, reason
from tenure.ui.visitor import Visitor


def pause(visitor: Visitor, name: str) -> Action:
    """Let it rest."""
    return _switch(
        visitor, name, False, "Pause the subscription", "Pause", "rests",
        "Nothing more is sent until it is resumed; what is told meanwhile is sent then.",
    )  # fmt: skip


def resume(visitor: Visitor, name: str) -> Action:
    """Let it go on."""
    return _switch(
        visitor, name, True, "Resume the subscription", "Resume", "goes on",
        "It goes on from where it stands: what was told meanwhile is sent now.",
    )  # fmt: skip


def test(visitor: Visitor, name: str) -> Action:
    """Send it a test."""

    async def perform(_: Values, key: str) -> Done:
        fact = await visitor.act(
            Permission.ADMINISTER, lambda caller: subscriptions.send_test(caller, name, idempotency_key=key)
        )
        return Done(f"A test is on its way to {name}.", places.subscription(name, fact.seq), f"Fact #{fact.seq}")

    says = "One event of the type subscription.tested goes to this subscription alone, on the way of all its events."
    return Action("Send a test", "Send", perform, name, says)


def rotate(visitor: Visitor, name: str) -> Action:
    """Give it a new signing key, shown once."""

    async def perform(_: Values, key: str) -> Done:
        made = await visitor.act(
            Permission.ADMINISTER, lambda caller: subscriptions.rotate_key(caller, name, idempotency_key=key)
        )
        if made.key is None:
            return _done(name, made.subscription.seq, "has its new key already, which was shown then")
        told = f"Events of {name} are signed with key {made.key.number} from now on, and with the former one."
        return Done(told, once=made.key.text)

    says = "Events carry a signature of the new key and one of the present, until the former is dropped. The key is shown once."
    return Action("Rotate the signing key", "Make a new key", perform, name, says)


def drop_former(visitor: Visitor, name: str) -> Action:
    """Let go of the former key."""

    async def perform(_: Values, key: str) -> Done:
        made = await visitor.act(
            Permission.ADMINISTER,
            lambda caller: subscriptions.rotate_key(caller, name, drop_former=True, idempotency_key=key),
        )
        return _done(name, made.subscription.seq, "signs with its newest key alone")

    says = "Events are signed with the newest key alone: a receiver that knows only the former refuses them."
    return Action("Drop the former key", "Drop it", perform, name, says, tone="danger")


def remove(visitor: Visitor, name: str) -> Action:
    """Take it out of use for good."""

    async def perform(values: Values, key: str) -> Done:
        await visitor.act(
            Permission.ADMINISTER,
            lambda caller: subscriptions.remove_subscription(
                caller, name, values["reason"].strip(), idempotency_key=key
            ),
        )  # fmt: skip
        return Done(f"{name} is out of use.", places.SUBSCRIPTIONS, "See the subscriptions")

    says = "It is out of use for good, and its keys are gone. Its history stays; its name is free again."
    return Action("Remove the subscription", "Remove for good", perform, name, says, (reason(),), "danger")


def redeliver(visitor: Visitor, name: str, letters: Sequence[EventDeadLetter]) -> Action:
    """Send events once more that were given up."""
    return _resolve(
        visitor, name, letters, "Send once more", "Send once more", "is sent once more", "are sent once more",
        lambda values: lambda caller, letter, key: dead_letters.redeliver(
            caller, name, letter, given(values, "reason"), idempotency_key=key
        ),
        "It goes beside its thread, which has gone on. Where it fails again, there is a new dead letter.", required=False,
    )  # fmt: skip


def ignore(visitor: Visitor, name: str, letters: Sequence[EventDeadLetter]) -> Action:
    """Decide that events are not sent any more."""
    return _resolve(
        visitor, name, letters, "Do not send it", "Ignore", "is ignored", "are ignored",
        lambda values: lambda caller, letter, key: dead_letters.ignore(
            caller, name, letter, values["reason"].strip(), idempotency_key=key
        ),
        "It is taken off the list, and never sent to this subscription.", required=True,
    )  # fmt: skip


def give_up(visitor: Visitor, name: str, event: str) -> Action:
    """Give up an event that waits, so that what waits behind it goes on."""

    async def perform(values: Values, key: str) -> Done:
        await visitor.act(
            Permission.OPERATE,
            lambda caller: waiting.give_up(caller, name, event, values["reason"].strip(), idempotency_key=key),
        )
        return Done(f"{event} is given up at the relay's next turn.")

    says = "It becomes a dead letter without being sent once more, and what waits behind it goes on."
    return Action("Give up an event", "Give up", perform, event, says, (reason(),), "danger")


Resolving = Callable[[Values], Callable[[Caller, int, str], Op[EventDeadLetter]]]
"""Makes of what was typed the operation for one dead letter, which gets an idempotency key of its own."""


def _switch(visitor: Visitor, name: str, enabled: bool, title: str, submit: str, done: str, says: str) -> Action:
    async def perform(values: Values, key: str) -> Done:
        row = await visitor.act(
            Permission.ADMINISTER,
            lambda caller: subscriptions.set_enabled(
                caller, name, enabled, values["reason"].strip(), idempotency_key=key
            ),
        )  # fmt: skip
        return _done(name, row.seq, done)

    return Action(title, submit, perform, name, says, (reason(),))


def _resolve(
    visitor: Visitor, name: str, letters: Sequence[EventDeadLetter], title: str, submit: str, one: str, many: str,
    make: Resolving, says: str, *, required: bool,
) -> Action:  # fmt: skip
    names = {letter.uid: euid.format_euid(euid.EVENT_DEAD_LETTER, letter.uid) for letter in letters}

    async def perform(values: Values, key: str) -> Done:
        operation = make(values)
        refused: list[str] = []
        for uid, told in names.items():
            try:
                await visitor.act(Permission.OPERATE, lambda caller, uid=uid: operation(caller, uid, f"{key}:{uid}"))  # type: ignore[misc]
            except TenureError as error:
                if len(names) == 1:
                    raise
                refused.append(f"{told}: {error.message}")
        if len(names) == 1:
            return Done(f"{next(iter(names.values()))} {one}.")
        went = len(names) - len(refused)
        return Done(f"{went} of {len(names)} events {many}.", refused=tuple(refused))

    told_of = ", ".join(list(names.values())[:6]) + (" …" if len(names) > 6 else "")
    about = f"{len(names)} events: {told_of}" if len(names) > 1 else told_of
    return Action(title, submit, perform, about, says, (reason(required=required),))


def _done(name: str, seq: int, done: str) -> Done:
    return Done(f"{name} {done}.", places.subscription(name, seq), f"Fact #{seq}")
