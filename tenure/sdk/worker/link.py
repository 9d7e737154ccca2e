"""A connection of the worker's own, reopened when it breaks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import TypeVar

import psycopg

from tenure.model.errors import StoreUnavailable, SubjectBusy
from tenure.sdk.session import KEEPALIVES, clock_setting, opened_async
from tenure.sdk.settings import Clock
from tenure.sdk.worker.hanging_up import hanging_up
from tenure.store.operation import Op
from tenure.store.postgres.own_connection import OwnAsyncConnection, Session
from tenure.store.postgres.runner import run_own_async

T = TypeVar("T")
_log = logging.getLogger("tenure.worker")
_FIRST_DELAY, _LAST_DELAY = 0.05, 5.0
_PATIENCE = 60.0


class Link:
    """One async connection. ``perform`` tries again until the database answers; what it runs must bear a repetition.

    With ``lock_timeout`` (seconds) it raises SubjectBusy where what it runs would wait for somebody's transaction for longer
    than a few times that. Behind a pooler, which keeps no settings of a session, it waits.
    """

    def __init__(self, dsn: str, name: str, clock: Clock | None = None, *, lock_timeout: float | None = None) -> None:
        self._dsn = dsn
        self._lock_timeout = lock_timeout
        self._name = name
        self._clock = clock
        self._connection: OwnAsyncConnection | None = None
        self._lock = asyncio.Lock()
        self.session: Session | None = None
        self.reconnects = 0

    async def connection(self) -> OwnAsyncConnection:
        """The open connection; opened if it is not."""
        if self._connection is None or self._connection.closed:
            self._connection = await OwnAsyncConnection.connect(self._dsn, autocommit=True, **KEEPALIVES)
            self.session = await opened_async(self._connection)
            if self._lock_timeout is not None and not self.session.pooled:
                setting = [f"{self._lock_timeout * 1000:.0f}ms"]
                await self._connection.execute("select set_config('lock_timeout', %s, false)", setting, prepare=False)
        return self._connection

    @property
    def busy(self) -> bool:
        """Whether something is under way on it."""
        return self._lock.locked()

    @property
    def backend(self) -> int | None:
        """The process id of the open connection's backend."""
        connection = self._connection
        return connection.info.backend_pid if connection is not None and not connection.closed else None

    async def attempt(self, make: Callable[[], Op[T]]) -> T:
        """Run an operation once; ``StoreUnavailable`` closes the connection, so that the next call opens a new one."""
        async with self._lock:
            try:
                connection = await self.connection()
                with hanging_up(connection, _PATIENCE):
                    if self._clock is not None:
                        await connection.execute(*clock_setting(self._clock()))
                    return await run_own_async(connection, make)
            except asyncio.CancelledError:
                # It may be in the middle of a transaction.
                await self._drop()
                raise
            except (StoreUnavailable, psycopg.OperationalError, psycopg.InterfaceError, OSError) as error:
                if self._lock_timeout is not None and isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                    raise SubjectBusy("Another transaction holds what this needs.", "Ask again in a moment.") from error
                await self._drop()
                if isinstance(error, StoreUnavailable):
                    raise
                raise StoreUnavailable(f"The database did not answer: {error}", "It is tried again.") from error

    async def perform(self, make: Callable[[], Op[T]]) -> T:
        """Run an operation, again and again while the database is away."""
        delay = _FIRST_DELAY
        while True:
            try:
                return await self.attempt(make)
            except StoreUnavailable as error:
                self.reconnects += 1
                _log.warning("%s: %s Trying again in %.2f s.", self._name, error.message, delay)
                await asyncio.sleep(delay)
                delay = min(delay * 2, _LAST_DELAY)

    async def _drop(self) -> None:
        if self._connection is not None:
            with contextlib.suppress(Exception):
                await self._connection.close()
            self._connection = None

    async def close(self) -> None:
        """Close the connection."""
        await self._drop()
