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
from tenure.sdk.session import KEEPALIVES, check, check_async, clock_setting
from tenure.sdk.settings import Settings
from tenure.sdk.tasks import Task
from tenure.sdk.worker.holding import Held
from tenure.sdk.worker.verdict import done
from tenure.store.postgres.own_connection import OwnAsyncConnection, OwnConnection
from tenure.store.postgres.runner import run, run_async
from tenure.store.records import Finish


class Transacting:
    """Calls the function within a transaction of a connection of its own, and completes the job in that same transaction.

    A connection whose transaction went through is kept for the next one, if it is still good then; another is closed.
    """

    def __init__(self, settings: Settings, caller: Caller) -> None:
        self._settings = settings
        self._caller = caller
        self._idle: list[OwnConnection] = []
        self._idle_async: list[OwnAsyncConnection] = []

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
    def _connection(self) -> Iterator[OwnConnection]:
        connection = self._kept() or OwnConnection.connect(self._settings.dsn, **KEEPALIVES)
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
    async def _async_connection(self) -> AsyncIterator[OwnAsyncConnection]:
        connection = await self._kept_async() or await OwnAsyncConnection.connect(self._settings.dsn, **KEEPALIVES)
        try:
            if self._settings.clock is not None:
                await connection.execute(*clock_setting(self._settings.clock()))
            yield connection
            await connection.commit()
        except BaseException:
            await connection.close()
            raise
        self._idle_async.append(connection)

    def _kept(self) -> OwnConnection | None:
        """One that is kept and still good: a job must not pay for what became of its connection while nobody used it."""
        while (connection := _taken(self._idle)) is not None:
            try:
                check(connection)
            except psycopg.Error:
                connection.close()
            else:
                break
        return connection

    async def _kept_async(self) -> OwnAsyncConnection | None:
        while (connection := _taken(self._idle_async)) is not None:
            try:
                await check_async(connection)
            except BaseException as error:  # whoever is canceled meanwhile leaves nothing open, either
                await connection.close()
                if not isinstance(error, psycopg.Error):
                    raise
            else:
                break
        return connection

    async def close(self) -> None:
        """Close what was kept."""
        while (connection := _taken(self._idle)) is not None:
            await asyncio.to_thread(connection.close)
        while (kept := _taken(self._idle_async)) is not None:
            await kept.close()


C = TypeVar("C", OwnConnection, OwnAsyncConnection)


def _taken(idle: list[C]) -> C | None:
    """One that is kept. Threads take from the list at the same time."""
    with contextlib.suppress(IndexError):
        return idle.pop()
    return None


def _request(task: Task[..., Any], held: Held, value: Any) -> CompleteExecution:
    report = done(task, held, value)
    if isinstance(report, CompleteExecution):
        return report
    assert isinstance(report, Finish)
    return CompleteExecution(
        lease=report.lease, worker=held.item.worker, token_hash=report.token_hash, result=report.result
    )
