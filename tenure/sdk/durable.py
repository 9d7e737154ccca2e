"""Code-first steps of a task (design 02, Model): what it did is kept, and a retry goes on behind it.

In a plain function these are calls, in a coroutine they are awaited. A plain job becomes a run of one step by the first of
them. What is kept has a name within the job: in another queue that the job goes on to, it is found under the same name.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import PydanticSerializationError, to_jsonable_python

from tenure.model import euid
from tenure.model.errors import InvalidPayload, InvalidRequest
from tenure.sdk.outcomes import Defer
from tenure.sdk.steps import Holding, Steps
from tenure.sdk.token import Token

if TYPE_CHECKING:
    from tenure.store.records import Claimed

T = TypeVar("T")
_LONG = timedelta(days=365)


@dataclass(slots=True)
class Reach:
    """How the code of one job reaches its run: set by the worker before the handler begins."""

    steps: Steps
    loop: asyncio.AbstractEventLoop
    seen: Counter[str] = field(default_factory=Counter)
    """How often each name was used in this attempt: the places in the code are told apart by their order."""


class Durable:
    """The part of ``Job`` that keeps what code did."""

    __slots__ = ()
    item: Claimed
    token: Token
    reach: Reach | None

    def step(self, name: str, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call ``function`` once and keep its result; in a later attempt the kept result is returned.

        The result must be JSON-ready, and comes back as JSON. A name used again is the next place in the code. What the
        function raises is raised, and nothing is kept.
        """
        return self._do(self._step(self._place(name), function, args, kwargs))

    def sleep(self, seconds: float) -> Any:
        """Wait at least so long without holding the lease: the job is put off, and goes on behind this in a new attempt."""
        return self._do(self._sleep(self._place("sleep"), seconds))

    def wait_event(self, name: str, timeout: float | None = None) -> Any:
        """The payload of the next signal of that name to the run, waited for without holding the lease.

        Raises ``TimeoutError`` once ``timeout`` seconds have passed since the first attempt to get it.
        """
        self._reached().seen[f"event {name}"] += 1
        return self._do(self._wait_event(name, self._reached().seen[f"event {name}"], timeout))

    def start_child(self, workflow: str, input: Any = None, *, key: str, version: int | None = None) -> Any:  # noqa: A002
        """Start a run of ``workflow`` as a child of this job's run; its EUID. The same ``key`` is the same child."""
        return self._do(self._start_child(workflow, input if input is not None else {}, key, version))

    async def _step(self, name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        steps = self._reached().steps
        before = await self._ask(steps.kept(self._holding, name))
        if before is not None:
            return before.value
        value = await self._call(function, args, kwargs)
        return (await self._ask(steps.keep(self._holding, name, _plain(name, value)))).value

    async def _call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        value = function(*args, **kwargs)
        return await value if isinstance(value, Awaitable) else value

    async def _sleep(self, name: str, seconds: float) -> None:
        until = await self._until(name, seconds)
        if until is not None:
            raise Defer(until=until)

    async def _until(self, name: str, seconds: float) -> datetime | None:
        """When a span that began with the first attempt ends; None once it has."""
        steps = self._reached().steps
        before = await self._ask(steps.kept(self._holding, name))
        if before is None:
            before = await self._ask(steps.began(self._holding, name, seconds))
        until = datetime.fromisoformat(before.value)
        return until if until > before.now else None

    async def _wait_event(self, name: str, number: int, seconds: float | None) -> Any:
        until = await self._until(f"event {name} {number}", seconds) if seconds is not None else None
        taken, now = await self._ask(self._reached().steps.take_signal(self._holding, name, number))
        if taken is not None:
            return taken.value
        if seconds is not None and until is None:
            raise TimeoutError(f"No signal {name!r} came within {seconds:g} s.")
        raise Defer(until=until or now + _LONG)

    async def _start_child(self, workflow: str, value: Any, key: str, version: int | None) -> str:
        plain = _plain(key, value)
        run = await self._ask(self._reached().steps.start_child(self._holding, workflow, plain, key, version))
        return euid.format_euid(euid.RUN, run)

    @property
    def _holding(self) -> Holding:
        return Holding(self.item, self.token)

    def _reached(self) -> Reach:
        if self.reach is None:
            raise InvalidRequest(
                "This job is not in the hands of a worker.", "Call it from the task that was given it."
            )
        return self.reach

    def _place(self, name: str) -> str:
        seen = self._reached().seen
        seen[name] += 1
        return name if seen[name] == 1 else f"{name}#{seen[name]}"

    async def _ask(self, asked: Coroutine[Any, Any, T]) -> T:
        loop = self._reached().loop
        return await asked if _inside(loop) else asyncio.run_coroutine_threadsafe(asked, loop).result()

    def _do(self, work: Coroutine[Any, Any, T]) -> Any:
        """To be awaited in the worker's loop; in a thread it is driven here, so that what it calls runs here."""
        return work if _inside(self._reached().loop) else _driven(work)


def _driven(work: Coroutine[Any, Any, T]) -> T:
    """Drive a coroutine that never waits: what it asks is done in the worker's loop while this thread is blocked."""
    try:
        work.send(None)
    except StopIteration as stop:
        value: T = stop.value
        return value
    work.close()
    raise InvalidRequest(
        "A coroutine function cannot be a step of a task that is a plain function.", "Make the task a coroutine, too."
    )


def _inside(loop: asyncio.AbstractEventLoop) -> bool:
    try:
        return asyncio.get_running_loop() is loop
    except RuntimeError:
        return False


def _plain(name: str, value: Any) -> Any:
    try:
        return to_jsonable_python(value)
    except PydanticSerializationError as error:
        raise InvalidPayload(
            f"What {name!r} gave is a {type(value).__name__} that cannot be written as JSON: {error}.",
            "Return JSON-ready data, or keep it elsewhere and return its reference.",
        ) from error
