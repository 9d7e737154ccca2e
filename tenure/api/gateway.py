"""Performs operations for whoever has proved who they are, on connections that see one tenant only.

The connections act as the role ``tenure_api``, which row-level security shows the rows of one tenant (design 05, Roles):
the second wall, behind the tenant that every statement names. Which tenant is a setting of the session.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar
from weakref import WeakKeyDictionary

from anyio import CancelScope
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from tenure.api.admission import ROLE, require_admission
from tenure.engine.caller import Caller
from tenure.flow.postgres import flow_on
from tenure.model.principal import Identity
from tenure.remote.postgres import remote_on
from tenure.sdk.session import KEEPALIVES, check_async, clock_setting, none_free, opened_async
from tenure.sdk.settings import Clock
from tenure.store.operation import Op
from tenure.store.postgres.own_connection import OwnAsyncConnection
from tenure.store.postgres.runner import run_async, run_own_async
from tenure.store.postgres.store import PostgresStore

T = TypeVar("T")
_Pool = AsyncConnectionPool[OwnAsyncConnection]
#: One of so many connections is for looking up who asks.
_DOORS = 5
_PATIENCE = 10.0
#: After so long the pool stops trying by itself, at ever longer intervals: the next request tries anew, at once.
_AWAY = 3.0
_ACT_AS = f"set role {ROLE}"
_TENANT = "select set_config('tenure.tenant', %s, %s)"


class Gateway:
    """A pool of connections for all requests of a server. ``open`` it first, ``close`` it at the end.

    ``clock`` moves the database's clock, for tests. Raises StoreUnavailable where no connection is to be had, NotAdmitted
    where the role is missing.
    """

    def __init__(self, dsn: str, *, max_connections: int = 20, clock: Clock | None = None) -> None:
        self.dsn = dsn
        self.store = PostgresStore()
        self._followers = (flow_on(self.store), remote_on(self.store))
        self.owners: dict[tuple[int, int], int | None] = {}
        """Whose worker it is, by tenant and worker: see ``tenure.api.ownership``."""
        self._clock = clock
        self._tenants: WeakKeyDictionary[OwnAsyncConnection, int | None] = WeakKeyDictionary()
        # Who asks is looked up on connections of their own: so no connection goes to and fro between tenants and none.
        doors = max(1, max_connections // _DOORS)
        self._pool, self._door = self._pool_of(max(1, max_connections - doors)), self._pool_of(doors)

    def _pool_of(self, most: int) -> _Pool:
        return AsyncConnectionPool(
            self.dsn, connection_class=OwnAsyncConnection, kwargs={"autocommit": True, **KEEPALIVES},
            configure=self._configure, check=check_async, min_size=1, max_size=most, timeout=_PATIENCE,
            reconnect_timeout=_AWAY, open=False,
        )  # fmt: skip

    async def open(self) -> None:
        """Open the first connection; fails at once where there is no server, or where it may not act as ``tenure_api``."""
        await asyncio.to_thread(require_admission, self.dsn)
        await self._pool.open()
        await self._door.open()

    async def close(self) -> None:
        """Close all connections."""
        await self._door.close()
        await self._pool.close()

    def caller(self, identity: Identity) -> Caller:
        """The caller that acts for the identity."""
        return Caller(
            self.store,
            identity.tenant,
            identity.actor,
            identity.tenant_key,
            principal=identity.principal.uid,
            roles=identity.roles,
            followers=self._followers,
        )

    async def perform(self, identity: Identity, make: Callable[[Caller], Op[T]]) -> T:
        """Run an operation for the identity, in a transaction of its own, seeing its tenant only."""
        caller = self.caller(identity)
        return await self._run(self._pool, identity.tenant, lambda: make(caller))

    async def perform_unbound(self, make: Callable[[PostgresStore], Op[T]]) -> T:
        """Run an operation before it is known who asks: it sees no tenant's rows, only what is made for this."""
        return await self._run(self._door, None, lambda: make(self.store))

    def use(self) -> dict[str, int]:
        """How the pool of connections is used: the numbers of psycopg_pool."""
        return self._pool.get_stats()

    async def _run(self, pool: _Pool, tenant: int | None, make: Callable[[], Op[T]]) -> T:
        async with self._connection(pool) as connection:
            if connection.session.pooled:  # what is set for a session would reach others
                async with connection.transaction():
                    await connection.execute(f"set local role {ROLE}", prepare=False)
                    await connection.execute(_TENANT, [_text(tenant), True], prepare=False)
                    return await run_async(connection, make(), prepare=False)
            if self._tenants.get(connection, -1) != tenant:
                await connection.execute(_TENANT, [_text(tenant), False])
                self._tenants[connection] = tenant
            return await run_own_async(connection, make)

    @asynccontextmanager
    async def _connection(self, pool: _Pool) -> AsyncIterator[OwnAsyncConnection]:
        try:
            # Whoever hangs up on a stream is cancelled at every await from then on, also where a connection goes back to its
            # pool, which would never see it again. So what was begun is finished; it takes milliseconds.
            with CancelScope(shield=True):
                async with pool.connection() as connection:
                    if self._clock is not None:
                        await connection.execute(*clock_setting(self._clock()))
                    yield connection
        except PoolTimeout as error:
            raise none_free(pool.timeout) from error

    async def _configure(self, connection: OwnAsyncConnection) -> None:
        session = await opened_async(connection)
        if not session.pooled:
            await connection.execute(_ACT_AS, prepare=False)


def _text(tenant: int | None) -> str:
    return str(tenant) if tenant is not None else ""
