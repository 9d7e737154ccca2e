"""Tasks that take a connection: what they write through it commits with the completion of their job, or not at all.

This is how a step with the recovery policy ``transaction`` is done (design 02, Model).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

import psycopg

from tenure.engine.actions import complete
from tenure.engine.caller import Caller
from tenure.model.requests import CompleteExecution
from tenure.sdk.session import KEEPALIVES, clock_setting
from tenure.sdk.settings import Settings
from tenure.sdk.tasks import Task
from tenure.sdk.worker.holding import Held
from tenure.sdk.worker.verdict import done
from tenure.store.postgres.runner import run, run_async
from tenure.store.records import Finish


class Transacting:
    """Calls the function within a transaction of a connection of its own, and completes the job in that same transaction.

    A connection whose transaction went through is kept for the next one; another is closed.
    """

    def __init__(self, settings: Settings, caller: Caller) -> None:
        self._settings = settings
        self._caller = caller
        self._idle: list[psycopg.Connection[Any]] = []
        self._idle_async: list[psycopg.AsyncConnection[Any]] = []

    def call(self, task: Task[..., Any], held: Held, arguments: dict[str, Any]) -> None:
        """In a thread. Raises what the function raises, and why the job cannot be completed: nothing is kept then."""
        with self._connection() as connection:
            value = task.function(**arguments, **{str(task.transaction_parameter): connection})
            run(connection, complete.complete(self._caller, _request(task, held, value)), prepare=False)

    async def call_async(self, task: Task[..., Any], held: Held, arguments: dict[str, Any]) -> None:
        """The same of a coroutine function."""
        async with self._async_connection() as connection:
            value = await task.function(**arguments, **{str(task.transaction_parameter): connection})
            await run_async(connection, complete.complete(self._caller, _request(task, held, value)), prepare=False)

    @contextmanager
    def _connection(self) -> Iterator[psycopg.Connection[Any]]:
        connection = _taken(self._idle) or psycopg.connect(self._settings.dsn, **KEEPALIVES)
        try:
            if self._settings.clock is not None:
                connection.execute(*clock_setting(self._settings.clock()))
            yield connection
            connection.commit()
        except BaseException:
            connection.close()  # which rolls back
            raise
        self._idle.append(connection)

    @asynccontextmanager
    async def _async_connection(self) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
        connection = _taken(self._idle_async) or await psycopg.AsyncConnection.connect(self._settings.dsn, **KEEPALIVES)
        try:
            if self._settings.clock is not None:
                await connection.execute(*clock_setting(self._settings.clock()))
            yield connection
            await connection.commit()
        except BaseException:
            await connection.close()
            raise
        self._idle_async.append(connection)

    async def close(self) -> None:
        """Close what was kept."""
        while (connection := _taken(self._idle)) is not None:
            await asyncio.to_thread(connection.close)
        while (kept := _taken(self._idle_async)) is not None:
            await kept.close()


C = TypeVar("C", psycopg.Connection[Any], psycopg.AsyncConnection[Any])


def _taken(idle: list[C]) -> C | None:
    """One that is kept and still there. Threads take from the list at the same time."""
    with contextlib.suppress(IndexError):
        while True:
            if not (connection := idle.pop()).closed:
                return connection
    return None


def _request(task: Task[..., Any], held: Held, value: Any) -> CompleteExecution:
    report = done(task, held, value)
    if isinstance(report, CompleteExecution):
        return report
    assert isinstance(report, Finish)
    return CompleteExecution(
        lease=report.lease, worker=held.item.worker, token_hash=report.token_hash, result=report.result
    )
