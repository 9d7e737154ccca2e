"""A relay on a database of its own connections, as ``tenure relay`` and a server run it (design 05, Out)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import psycopg
from psycopg import sql
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from tenure.ledger.relaying.relay import Relay, RelaySettings
from tenure.ledger.rows import Watched
from tenure.model.errors import Forbidden, StoreUnavailable
from tenure.model.subscription import WorkflowTrigger
from tenure.sdk.session import KEEPALIVES, check_async, clock_setting, none_free, opened_async
from tenure.sdk.settings import Clock
from tenure.sdk.triggers import TriggerDestination
from tenure.store.operation import Op
from tenure.store.port import Store
from tenure.store.postgres.own_connection import OwnAsyncConnection
from tenure.store.postgres.runner import run_async, run_own_async, tried_again
from tenure.store.postgres.store import PostgresStore

T = TypeVar("T")
_CONNECTIONS = 4
_PATIENCE = 10.0
ROLE = "tenure_relay"
"""The role as which a relay acts that does not own the schema."""
_API = "tenure_api"
#: Whether the schema is there; whether it is one's own, or all rights were granted; and what one may become.
_MAY = """
select k.oid is not null as migrated, current_user as name,
    pg_has_role(current_user, n.nspowner, 'usage') as owns,
    coalesce(has_table_privilege(k.oid, 'select'), false) as reads,
    (select pg_has_role(current_user, r.oid, m.how) from pg_roles r where r.rolname = 'tenure_relay') as relays,
    (select has_table_privilege(r.oid, k.oid, 'select') from pg_roles r where r.rolname = 'tenure_relay') as admitted,
    coalesce((select pg_has_role(current_user, r.oid, m.how) from pg_roles r where r.rolname = 'tenure_api'), false) as serves
from pg_namespace n
left join pg_class k on k.relnamespace = n.oid and k.relname = 'signing_key'
cross join (select case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end) m(how)
where n.nspname = 'tenure'
"""


class NoRelay(Forbidden):
    """The role of the database may not do what a relay does."""

    code = "no_relay"


class RelayConnections:
    """The connections of a relay. ``clock`` moves the database's clock, for tests."""

    def __init__(self, dsn: str, clock: Clock | None = None) -> None:
        self._dsn = dsn
        self._clock = clock
        self._store = PostgresStore()
        self._act_as: str | None = None
        self.starts_runs = True
        """Whether it may start the runs of event triggers."""
        self._pool = AsyncConnectionPool(
            dsn, connection_class=OwnAsyncConnection, kwargs={"autocommit": True, **KEEPALIVES}, configure=self._configure,
            check=check_async, min_size=1, max_size=_CONNECTIONS, timeout=_PATIENCE, open=False,
        )  # fmt: skip

    async def open(self) -> None:
        """Open the first connection, and find out as whom to act: as the owner of the schema, else as ``tenure_relay``.

        Raises StoreUnavailable where there is no server or no schema of this version, NoRelay where the role may not do what
        a relay does.
        """
        try:
            connection = await psycopg.AsyncConnection.connect(self._dsn, prepare_threshold=None, **KEEPALIVES)
            async with connection:
                row = await (await connection.execute(_MAY)).fetchone()
        except psycopg.Error as error:
            raise StoreUnavailable(
                f"The database cannot be reached: {str(error).strip()}", "See that the server runs."
            ) from error
        if row is None or not row[0]:
            raise StoreUnavailable("The database does not have Tenure's present schema.", "Run `tenure migrate` on it.")
        _, name, owns, reads, relays, admitted, serves = row
        if not (owns or relays or reads):
            make = f"create role {ROLE} nologin; " if relays is None else ""
            admit = "" if admitted else "; select tenure.admit_relay()"
            raise NoRelay(
                f"The role {name} may not do what a relay does.",
                f"Let a DBA run, as the owner of the schema: {make}grant {ROLE} to {_quoted(name)}{admit}.",
            )
        if relays and not owns:
            if not admitted:
                raise NoRelay(
                    f"The role {ROLE} was made after the database was migrated, and has no rights on it yet.",
                    "Let the owner of the schema run: select tenure.admit_relay().",
                )
            self._act_as, self.starts_runs = ROLE, serves
        await self._pool.open()

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    async def perform(self, make: Callable[[Store], Op[T]], /) -> T:
        """Run an operation, in a transaction of its own, for whatever tenant."""
        async with self._connection() as connection:
            if self._act_as is not None and connection.session.pooled:  # what is set for a session would reach others
                async with connection.transaction():
                    await connection.execute(f"set local role {self._act_as}", prepare=False)
                    return await run_async(connection, make(self._store), prepare=False)
            return await run_own_async(connection, lambda: make(self._store))

    async def perform_for(self, tenant: int, make: Callable[[Store], Op[T]], /) -> T:
        """Run an operation of the engine for one tenant: where the relay has a role of its own, as a server does, which sees that
        tenant alone.
        """
        if self._act_as is None:
            return await self.perform(make)
        attempt = 1
        while True:
            try:
                async with self._connection() as connection, connection.transaction():
                    await connection.execute(f"set local role {_API}", prepare=False)
                    await connection.execute(
                        "select set_config('tenure.tenant', %s, true)", [str(tenant)], prepare=False
                    )
                    return await run_async(connection, make(self._store), prepare=connection.session.prepares)
            except Exception as error:  # a block that is rolled back forgets what was prepared, too
                if not tried_again(attempt, error):
                    raise
                attempt += 1

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[OwnAsyncConnection]:
        try:
            async with self._pool.connection() as connection:
                if self._clock is not None:
                    await connection.execute(*clock_setting(self._clock()))
                yield connection
        except PoolTimeout as error:
            raise none_free(_PATIENCE) from error

    async def _configure(self, connection: OwnAsyncConnection) -> None:
        session = await opened_async(connection)
        if self._act_as is not None and not session.pooled:
            await connection.execute(f"set role {self._act_as}", prepare=False)


def _quoted(name: str) -> str:
    return sql.Identifier(name).as_string(None)


def relay_over(connections: RelayConnections, settings: RelaySettings | None = None) -> Relay:
    """A relay that knows all destinations, those within the database, too."""

    def trigger(watched: Watched) -> TriggerDestination:
        settings = watched.spec.destination
        assert isinstance(settings, WorkflowTrigger)

        class Starting:
            async def __call__(self, make: Callable[[Store], Op[T]], /) -> T:
                return await connections.perform_for(watched.tenant, make)

        return TriggerDestination(Starting(), watched, settings)

    without = frozenset() if connections.starts_runs else frozenset({"workflow"})
    return Relay(connections.perform, settings, {"workflow": trigger}, without)


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
