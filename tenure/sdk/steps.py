"""Where the code of jobs keeps what it did: over a database, or over HTTP (design 02, Model)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

from tenure.engine.caller import Caller
from tenure.flow.engine import code
from tenure.flow.engine.code import Holder, Kept
from tenure.sdk.token import Token
from tenure.store.operation import Op
from tenure.store.records import Claimed

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Holding:
    """Whose code it is: what was claimed, and what proves it."""

    item: Claimed
    token: Token


class Steps(Protocol):
    """What ``Job`` asks for. Whatever is asked again is not done again."""

    async def kept(self, of: Holding, name: str) -> Kept | None:
        """What is kept under a name."""
        ...

    async def keep(self, of: Holding, name: str, value: Any) -> Kept:
        """Keep a value under a name; what is kept already stays, and is the answer."""
        ...

    async def began(self, of: Holding, name: str, seconds: float) -> Kept:
        """Until when a span lasts that began when it was first asked for."""
        ...

    async def take_signal(self, of: Holding, name: str, number: int) -> tuple[Kept | None, datetime]:
        """The oldest signal of that name, if there is one; and the store's time."""
        ...

    async def start_child(self, of: Holding, workflow: str, value: Any, key: str, version: int | None) -> int:
        """The uid of the child run of that key."""
        ...


class Ask(Protocol):
    """Runs an operation where the runs are."""

    def __call__(self, make: Callable[[Caller], Op[T]]) -> Coroutine[Any, Any, T]:
        """The operation, to be awaited."""
        ...


class DatabaseSteps:
    """``Steps`` over a connection."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def kept(self, of: Holding, name: str) -> Kept | None:
        """See ``Steps.kept``."""
        return await self._ask(lambda caller: code.kept(caller, holder(of), name))

    async def keep(self, of: Holding, name: str, value: Any) -> Kept:
        """See ``Steps.keep``."""
        return await self._ask(lambda caller: code.keep(caller, holder(of), name, value))

    async def began(self, of: Holding, name: str, seconds: float) -> Kept:
        """See ``Steps.began``."""
        return await self._ask(lambda caller: code.began(caller, holder(of), name, seconds))

    async def take_signal(self, of: Holding, name: str, number: int) -> tuple[Kept | None, datetime]:
        """See ``Steps.take_signal``."""
        return await self._ask(lambda caller: code.taken(caller, holder(of), name, number))

    async def start_child(self, of: Holding, workflow: str, value: Any, key: str, version: int | None) -> int:
        """See ``Steps.start_child``."""
        return await self._ask(lambda caller: code.start_child(caller, holder(of), workflow, value, key, version))


def holder(of: Holding) -> Holder:
    """The holder as the engine knows it."""
    return Holder(of.item.subject, of.item.lease, of.item.worker, of.token.digest)
