"""What the code of jobs keeps, over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import Any, Protocol, TypeVar

from tenure.flow.engine.code import Kept
from tenure.model import euid
from tenure.sdk.http.call import Call
from tenure.sdk.steps import Holding

T = TypeVar("T")


class Send(Protocol):
    """Sends a request until it is answered."""

    def __call__(self, call: Call[T]) -> Coroutine[Any, Any, T]:
        """The answer, to be awaited."""
        ...


class HttpSteps:
    """``Steps`` over HTTP: each request proves the lease, and may be sent again."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def kept(self, of: Holding, name: str) -> Kept | None:
        """See ``Steps.kept``."""
        return await self._send(_call("find-step", of, _found, name=name))

    async def keep(self, of: Holding, name: str, value: Any) -> Kept:
        """See ``Steps.keep``."""
        return await self._send(_call("keep-step", of, _kept, name=name, value=value))

    async def began(self, of: Holding, name: str, seconds: float) -> Kept:
        """See ``Steps.began``."""
        return await self._send(_call("begin-wait", of, _kept, name=name, seconds=seconds))

    async def take_signal(self, of: Holding, name: str, number: int) -> tuple[Kept | None, datetime]:
        """See ``Steps.take_signal``."""
        return await self._send(_call("take-signal", of, _taken, name=name, number=number))

    async def start_child(self, of: Holding, workflow: str, value: Any, key: str, version: int | None) -> int:
        """See ``Steps.start_child``."""
        said = {"workflow": workflow, "input": value, "child_key": key} | ({"version": version} if version else {})
        return await self._send(_call("start-child-run", of, lambda shown: euid.parse_euid(shown["run"]), **said))


def _call(action: str, of: Holding, read: Callable[[Any], T], **said: Any) -> Call[T]:
    body = {
        "subject_euid": euid.format_euid(euid.SUBJECT, of.item.subject),
        "lease_euid": euid.format_euid(euid.LEASE, of.item.lease),
        "worker_euid": euid.format_euid(euid.WORKER, of.item.worker), "lease_token": of.token.reveal(), **said,
    }  # fmt: skip
    return Call("POST", f"/actions/{action}", read, body)


def _kept(shown: Mapping[str, Any]) -> Kept:
    return Kept(shown["value"], datetime.fromisoformat(shown["now"]))


def _found(shown: Mapping[str, Any]) -> Kept | None:
    return _kept(shown) if shown["found"] else None


def _taken(shown: Mapping[str, Any]) -> tuple[Kept | None, datetime]:
    return _found(shown), datetime.fromisoformat(shown["now"])
