"""``@app.on("name")``: what a message of another system does, once (design 05, In).

The handler runs in the transaction that keeps the message's id, with a client of that transaction: what it submits, starts
or writes to tables of its own commits with the id, or not at all.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from tenure.engine.caller import Caller
from tenure.ledger.receiving import Received, receive
from tenure.model.errors import AlreadyExists, InvalidRequest, NotFound
from tenure.model.json_text import payload_hash
from tenure.model.queue import Key
from tenure.model.requests import Request, validated
from tenure.store.operation import Calling, Op

C = TypeVar("C")
H = TypeVar("H", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Message(Generic[C]):
    """A message that is being taken in. ``tx`` is the client within its transaction; ``tx.connection`` of a ``Tenure`` is
    the psycopg connection, for tables of your own.
    """

    source: str
    message_id: str
    name: str
    data: Any
    tx: C


class _Named(Request):
    name: Key


class Inbox:
    """The handlers of a client, by the name of the message."""

    def __init__(self) -> None:
        self.handlers: dict[str, Callable[[Message[Any]], Any]] = {}

    def on(self, name: str) -> Callable[[H], H]:
        """Make a function the handler of messages of that name: plain for ``Tenure``, a coroutine for ``AsyncTenure``.

        It is given a ``Message``. What it raises undoes everything, and the message can come again.
        """

        def register(handler: H) -> H:
            validated(_Named, name=name)
            if name in self.handlers:
                raise AlreadyExists(f"There is a handler of {name!r} already.", "One function handles a message.")
            if inspect.iscoroutinefunction(handler) != self._awaits():
                raise InvalidRequest(
                    f"The handler of {name!r} does not fit its client.",
                    "A coroutine function for AsyncTenure, a plain one for Tenure.",
                )
            self.handlers[name] = handler
            return handler

        return register

    def receive(self, source: str, message_id: str, name: str, data: Any = None) -> Any:
        """Take a message in and let its handler do what it does, once: a ``Received`` from ``Tenure``, an awaitable of one
        from ``AsyncTenure``.

        The same message again is a duplicate, which is acknowledged and does nothing. Raises MessageConflict where one with
        this id said something else, NotFound where nobody handles its name.
        """
        handler = self._inbox().handlers.get(name)
        if handler is None:
            raise NotFound(f"Nobody handles messages named {name!r}.", f"Write a handler: @app.on({name!r}).")
        digest = payload_hash({"name": name, "data": data})
        client = cast("Any", self)

        def handled(connection: Any) -> Any:
            return handler(Message(source, message_id, name, data, client.within(connection)))

        def effect(_: Caller) -> Op[Any]:
            return (yield Calling(handled))

        def taken(caller: Caller) -> Op[Received[Any]]:
            return receive(caller, source, message_id, digest, effect)

        return client.perform(taken)

    def _inbox(self) -> Inbox:
        """Where the handlers are: with the client that this one acts within a transaction of."""
        return cast("Inbox", getattr(self, "_client", self))

    def _awaits(self) -> bool:
        return inspect.iscoroutinefunction(cast("Any", self).perform)
