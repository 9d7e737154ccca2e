"""The connections of a client: the one that was used last is at hand, the others are in a pool.

A pool is a dozen calls away, for every action; what nobody else waits for needs none of them.
"""

from __future__ import annotations

import threading
import time

from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool, ConnectionPool, PoolTimeout

from tenure.sdk.session import KEEPALIVES, check, check_async, clock_setting, none_free, opened, opened_async
from tenure.sdk.settings import Clock
from tenure.store.postgres.own_connection import OwnAsyncConnection, OwnConnection, in_doubt

_PATIENCE = 30.0
_LEAVE = 60.0
"""Seconds after which a connection goes back to its pool all the same, which renews what has grown old."""


class Connections:
    """Connections for all threads of a client, opened on first use. At most ``most`` at once. ``clock`` moves the database's
    clock, for tests.

    ``take`` raises StoreUnavailable where none is to be had within half a minute.
    """

    def __init__(self, dsn: str, most: int, clock: Clock | None = None) -> None:
        self._clock = clock
        self._pool: ConnectionPool[OwnConnection] = ConnectionPool(
            dsn, connection_class=OwnConnection, kwargs={"autocommit": True, **KEEPALIVES}, configure=_configure,
            check=check, min_size=1, max_size=most, timeout=_PATIENCE, open=False,
        )  # fmt: skip
        self._lock = threading.Lock()
        self._at_hand: OwnConnection | None = None
        self._left_at = 0.0
        self._asking = 0
        """How many threads wait for the pool: they come first."""

    def open(self) -> None:
        """Open the first connection, in the background."""
        self._pool.open()

    def take(self) -> OwnConnection:
        """A connection for one action, which has to ``give`` it back."""
        connection = self._taken()
        if self._clock is not None:
            try:
                connection.execute(*clock_setting(self._clock()))
            except BaseException:
                self.give(connection)
                raise
        return connection

    def _taken(self) -> OwnConnection:
        with self._lock:
            connection, self._at_hand = self._at_hand, None
            if connection is None:
                self._asking += 1
        if connection is None:
            return self._asked()
        if in_doubt(connection):
            with self._lock:
                self._asking += 1
            self._pool.putconn(connection)
            return self._asked()
        return connection

    def give(self, connection: OwnConnection) -> None:
        """Hand back what was taken. In autocommit there is nothing to commit; what was left open, the pool rolls back."""
        if _whole(connection):
            with self._lock:
                if not self._asking and self._at_hand is None and time.monotonic() - self._left_at < _LEAVE:
                    self._at_hand = connection
                    return
        self._pool.putconn(connection)

    def _asked(self) -> OwnConnection:
        try:
            connection = self._pool.getconn()
        except PoolTimeout as error:
            raise none_free(self._pool.timeout) from error
        finally:
            with self._lock:
                self._asking -= 1
        self._left_at = time.monotonic()
        return connection

    @property
    def in_pool(self) -> int:
        """How many are idle in the pool: not in use, and not at hand."""
        return self._pool.get_stats()["pool_available"]

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            connection, self._at_hand = self._at_hand, None
        if connection is not None:
            self._pool.putconn(connection)
        self._pool.close()


class AsyncConnections:
    """The same for an event loop."""

    def __init__(self, dsn: str, most: int, clock: Clock | None = None) -> None:
        self._clock = clock
        self._pool: AsyncConnectionPool[OwnAsyncConnection] = AsyncConnectionPool(
            dsn, connection_class=OwnAsyncConnection, kwargs={"autocommit": True, **KEEPALIVES},
            configure=_configure_async, check=check_async, min_size=1, max_size=most, timeout=_PATIENCE, open=False,
        )  # fmt: skip
        self._at_hand: OwnAsyncConnection | None = None
        self._left_at = 0.0
        self._asking = 0

    async def open(self) -> None:
        """Open the first connection, in the background."""
        await self._pool.open()

    async def take(self) -> OwnAsyncConnection:
        """A connection for one action, which has to ``give`` it back."""
        connection = await self._taken()
        if self._clock is not None:
            try:
                await connection.execute(*clock_setting(self._clock()))
            except BaseException:
                await self.give(connection)
                raise
        return connection

    async def _taken(self) -> OwnAsyncConnection:
        connection, self._at_hand = self._at_hand, None
        if connection is not None:
            if not in_doubt(connection):
                return connection
            await self._pool.putconn(connection)
        self._asking += 1
        try:
            connection = await self._pool.getconn()
        except PoolTimeout as error:
            raise none_free(self._pool.timeout) from error
        finally:
            self._asking -= 1
        self._left_at = time.monotonic()
        return connection

    async def give(self, connection: OwnAsyncConnection) -> None:
        """Hand back what was taken."""
        kept = not self._asking and self._at_hand is None and time.monotonic() - self._left_at < _LEAVE
        if kept and _whole(connection):
            self._at_hand = connection
        else:
            await self._pool.putconn(connection)

    @property
    def in_pool(self) -> int:
        """How many are idle in the pool: not in use, and not at hand."""
        return self._pool.get_stats()["pool_available"]

    async def close(self) -> None:
        """Close all connections."""
        connection, self._at_hand = self._at_hand, None
        if connection is not None:
            await self._pool.putconn(connection)
        await self._pool.close()


def _whole(connection: OwnConnection | OwnAsyncConnection) -> bool:
    return connection.pgconn.transaction_status == TransactionStatus.IDLE


def _configure(connection: OwnConnection) -> None:
    opened(connection)


async def _configure_async(connection: OwnAsyncConnection) -> None:
    await opened_async(connection)
