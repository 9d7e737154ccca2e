"""Taking in messages of other systems: each does what it does once (design 05, In).

The id of a message is kept in the transaction of its effect. So an effect that fails leaves nothing, and the message can
come again; one that was done is acknowledged, and not done again, however often it comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.model.errors import InvalidRequest, MessageConflict
from tenure.store.operation import Op
from tenure.store.records import InboxRow, Refused

T = TypeVar("T")

ACTION = "receive_message"
MAX_SOURCE, MAX_MESSAGE_ID = 200, 500
_HASH_BYTES = 32


@dataclass(frozen=True, slots=True)
class Received(Generic[T]):
    """What became of a message. ``value`` is what its effect gave; None where ``duplicate``, and nothing was done.

    ``received_at`` is when it was taken in, for the first time.
    """

    source: str
    message_id: str
    received_at: datetime
    duplicate: bool
    value: T | None = None


def receive(
    caller: Caller, source: str, message_id: str, content_hash: bytes, effect: Callable[[Caller], Op[T]]
) -> Op[Received[T]]:
    """Take a message in and run its effect in one transaction; a duplicate is acknowledged and has none.

    ``content_hash`` is the SHA-256 of what the message says. Another content under the same id changes nothing, is kept
    as a refusal and raises MessageConflict. What the effect raises undoes all of it: the message was not taken in.
    Raises InvalidRequest for a source or an id that is empty or too long.
    """
    _checked("source", source, MAX_SOURCE)
    _checked("message id", message_id, MAX_MESSAGE_ID)
    if len(content_hash) != _HASH_BYTES:
        raise InvalidRequest("The hash of a message's content is a SHA-256: 32 bytes.", "Hash the content as it came.")
    return told(
        caller, ACTION, _receive(caller, source, message_id, content_hash, effect),
        lambda received: {"outcome": "replayed"} if received.duplicate else {}, idempotency_key=f"{source}:{message_id}",
    )  # fmt: skip


def _receive(
    caller: Caller, source: str, message_id: str, content_hash: bytes, effect: Callable[[Caller], Op[T]]
) -> Op[Received[T]]:
    taken = yield from caller.store.transaction(_take_in(caller, source, message_id, content_hash, effect))
    if isinstance(taken, InboxRow):
        raise MessageConflict(
            f"Message {message_id!r} of {source!r} was taken in before and said something else.",
            "Give what says something new an id of its own.",
            source=source, message_id=message_id, received_at=taken.received_at,
        )  # fmt: skip
    return taken


def _take_in(
    caller: Caller, source: str, message_id: str, content_hash: bytes, effect: Callable[[Caller], Op[T]]
) -> Op[Received[T] | InboxRow]:
    """The message taken in, or the one of before with which it is in conflict."""
    row, new = yield from caller.store.take_in(caller.tenant, caller.actor, source, message_id, content_hash)
    if new:
        return Received(source, message_id, row.received_at, False, (yield from effect(caller)))
    if row.content_hash == content_hash:
        return Received(source, message_id, row.received_at, True)
    message = f"Message {message_id!r} of {source!r} came with another content than before."
    yield from caller.store.refuse(caller.tenant, [Refused(MessageConflict.code, ACTION, caller.actor, message)])
    return row


def _checked(what: str, value: str, longest: int) -> None:
    if not (1 <= len(value) <= longest and value.isprintable()):
        raise InvalidRequest(
            f"The {what} of a message has 1 to {longest} printable characters.", "Give the one that the sender gave."
        )
