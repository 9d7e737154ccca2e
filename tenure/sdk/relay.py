"""A relay on a database of its own connections, as ``tenure relay`` and a server run it (design 05, Out)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from tenure.ledger.relaying.relay import Relay, RelaySettings
from tenure.ledger.rows import Watched
from tenure.model.errors import Forbidden, StoreUnavailable
from tenure.model.subscription import WorkflowTrigger
from tenure.sdk.session import KEEPALIVES, Rest, Session, clock_setting, opened_async
from tenure.sdk.settings import Clock
from tenure.sdk.triggers import TriggerDestination
from tenure.store.operation import Op
from tenure.store.port import Store
from tenure.store.postgres.runner import run_own_async
from tenure.store.postgres.store import PostgresStore

T = TypeVar("T")
_CONNECTIONS = 4
_PATIENCE = 10.0
_MAY_READ = "select has_table_privilege('tenure.signing_key', 'select'), current_user"


class NoRelay(Forbidden):
    """The role of the database may not read what events are signed with, so it cannot run a relay."""

    code = "no_relay"


class RelayConnections:
    """The connections of a relay. ``clock`` moves the database's clock, for tests."""

    def __init__(self, dsn: str, clock: Clock | None = None) -> None:
        self._dsn = dsn
        self._clock = clock
        self._store = PostgresStore()
        self._sessions: dict[int, Session] = {}
        self._rest = Rest()
        self._pool = AsyncConnectionPool(
            dsn, kwargs={"autocommit": True, **KEEPALIVES}, configure=self._configure, check=self._check, min_size=1,
            max_size=_CONNECTIONS, timeout=_PATIENCE, open=False,
        )  # fmt: skip

    async def open(self) -> None:
        """Open the first connection. Raises StoreUnavailable where there is no server or no schema of this version, NoRelay
        where the role may not do what a relay does.
        """
        try:
            connection = await psycopg.AsyncConnection.connect(self._dsn, prepare_threshold=None, **KEEPALIVES)
            async with connection:
                row = await (await connection.execute(_MAY_READ)).fetchone()
        except psycopg.errors.UndefinedTable as error:
            raise StoreUnavailable(
                "The database does not have Tenure's present schema.", "Run `tenure migrate` on it."
            ) from error
        except psycopg.Error as error:
            raise StoreUnavailable(
                f"The database cannot be reached: {str(error).strip()}", "See that the server runs."
            ) from error
        if row is None or not row[0]:
            raise NoRelay(
                f"The role {row[1] if row else ''} may not read the signing keys of subscriptions.",
                "Run `tenure relay` with the DSN of the owner of the schema.",
            )
        await self._pool.open()

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    async def perform(self, make: Callable[[Store], Op[T]], /) -> T:
        """Run an operation, in a transaction of its own, for whatever tenant."""
        async with self._connection() as (connection, session):
            return await run_own_async(connection, lambda: make(self._store), prepare=session.prepares)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[tuple[psycopg.AsyncConnection[Any], Session]]:
        try:
            async with self._pool.connection() as connection:
                if self._clock is not None:
                    await connection.execute(*clock_setting(self._clock()))
                yield connection, self._sessions[connection.info.backend_pid]
        except PoolTimeout as error:
            raise StoreUnavailable(
                f"No connection to the database within {_PATIENCE:.0f} s.", "See that it runs and accepts connections."
            ) from error

    async def _configure(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._sessions[connection.info.backend_pid] = await opened_async(connection)

    async def _check(self, connection: psycopg.AsyncConnection[Any]) -> None:
        if self._rest.in_doubt(connection):
            await AsyncConnectionPool.check_connection(connection)


def relay_over(connections: RelayConnections, settings: RelaySettings | None = None) -> Relay:
    """A relay that knows all destinations, those within the database, too."""

    def trigger(watched: Watched) -> TriggerDestination:
        settings = watched.spec.destination
        assert isinstance(settings, WorkflowTrigger)
        return TriggerDestination(connections.perform, watched, settings)

    return Relay(connections.perform, settings, {"workflow": trigger})


@asynccontextmanager
async def relay_on(dsn: str, settings: RelaySettings | None = None, clock: Clock | None = None) -> AsyncIterator[Relay]:
    """A relay over connections of its own, which is stopped and closed in the end. Errors as of ``RelayConnections.open``."""
    connections = RelayConnections(dsn, clock)
    await connections.open()
    relay = relay_over(connections, settings)
    try:
        yield relay
    finally:
        await relay.close()
        await connections.close()


__all__ = ["NoRelay", "Relay", "RelayConnections", "RelaySettings", "relay_on", "relay_over"]
