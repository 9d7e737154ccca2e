"""``Tenure`` and ``AsyncTenure``: the two faces of one set of actions (design 06, SDK)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from tenure.engine.caller import Caller
from tenure.flow.postgres import flow_on
from tenure.model.errors import NotFound
from tenure.remote.postgres import remote_on
from tenure.sdk.actions import Actions
from tenure.sdk.caller_connection import async_connection_of, connection_of
from tenure.sdk.connections import AsyncConnections, Connections
from tenure.sdk.http.call import Call
from tenure.sdk.http.reaching import Reaching, refuse
from tenure.sdk.inbox import Inbox
from tenure.sdk.session import clock_setting, reachable
from tenure.sdk.settings import DEFAULT_TENANT, Clock, Settings, resolve
from tenure.sdk.tasks import TaskRegistry
from tenure.store.operation import Op
from tenure.store.postgres.own_connection import OwnAsyncConnection, OwnConnection
from tenure.store.postgres.runner import run, run_async, run_own, run_own_async
from tenure.store.postgres.store import PostgresStore

if TYPE_CHECKING:
    from tenure.sdk.http.async_line import AsyncLine
    from tenure.sdk.http.line import Line

T = TypeVar("T")


def _caller_of(settings: Settings, store: PostgresStore, tenant: int | None) -> Caller:
    """The identity that either client acts under, once its tenant is known."""
    if tenant is None:
        raise NotFound(
            f"There is no tenant {settings.tenant!r}.",
            "Check its name. To make it, pass create_tenant=True once, or define its first queue: "
            "tenure --tenant KEY queue define QUEUE.",
        )
    return Caller(store, tenant, settings.actor, settings.tenant, followers=(flow_on(store), remote_on(store)))


class Tenure(Actions, TaskRegistry, Inbox, Reaching):
    """The sync client. Threads may share it.

    ``dsn`` names a PostgreSQL 15 or newer; without one (and without ``TENURE_DSN``) the embedded server is used.
    ``tenant`` and ``actor`` say for whom and as whom it acts; a tenant that is not there is made with ``create_tenant``
    only, so that a mistyped one is noticed (``default`` is always there). Connections are opened on first use; ``close`` them, or
    use it as a context manager. With ``url`` and ``token`` (or ``TENURE_URL`` and ``TENURE_TOKEN``, and no DSN) it
    reaches a server over HTTP instead, and can do what a token permits.
    """

    def __init__(
        self, dsn: str | None = None, *, tenant: str | None = None, actor: str | None = None, clock: Clock | None = None,
        notify: bool = True, max_connections: int = 10, create_tenant: bool = False, url: str | None = None,
        token: str | None = None,
    ) -> None:  # fmt: skip
        TaskRegistry.__init__(self)
        Inbox.__init__(self)
        Reaching.__init__(self, dsn, url, token)
        self._given = (dsn, tenant, actor, clock, notify)
        self._create_tenant = create_tenant
        self._max_connections = max_connections
        self._lock = threading.Lock()
        self._settings: Settings | None = None
        self._connections: Connections | None = None
        self._caller: Caller | None = None
        self._line: Line | None = None

    def send(self, call: Call[T]) -> T:
        """The answer of the server that it reaches."""
        assert self.address is not None
        with self._lock:
            if self._line is None or self._line.address is not self.address:
                from tenure.sdk.http.line import Line  # noqa: PLC0415 - httpx takes its time, and few need it

                self._line = Line(self.address)
        return self._line.perform(call)

    @property
    def settings(self) -> Settings:
        """What the client was given, filled in; the first use may start the embedded server.

        Raises NotOverHttp for a client that only reaches a server.
        """
        if self.address is not None:
            refuse(self.address)
        with self._lock:
            if self._settings is None:
                self._settings = resolve(*self._given)
            return self._settings

    @property
    def caller(self) -> Caller:
        """Identity and store of the client. Raises NotFound for a tenant that is not there and not to be made."""
        if self._caller is None:
            settings = self.settings
            create = self._create_tenant or settings.tenant == DEFAULT_TENANT
            store = PostgresStore(notify=settings.notify)
            with self._connection() as connection:
                tenant = run_own(connection, lambda: store.tenant(settings.tenant, create=create, actor=settings.actor))
            self._caller = _caller_of(settings, store, tenant)
        return self._caller

    def perform(self, make: Callable[[Caller], Op[T]]) -> T:
        """Run an operation on a connection of the pool, in a transaction of its own."""
        caller = self._caller or self.caller
        connections = self._connections or self._opened()
        connection = connections.take()
        try:
            return run_own(connection, lambda: make(caller))
        finally:
            connections.give(connection)

    def within(self, transaction: Any) -> Within:
        """The same actions inside the caller's own transaction: a psycopg connection, or a SQLAlchemy session or
        connection. What they do commits or rolls back with it.
        """
        return Within(self, connection_of(transaction))

    @contextmanager
    def transaction(self) -> Iterator[Within]:
        """A transaction of its own for several actions: all of them or none."""
        _ = self.caller  # before a connection is taken, of which there may be only one
        with self._connection() as connection, connection.transaction():
            yield Within(self, connection)

    @contextmanager
    def _connection(self) -> Iterator[OwnConnection]:
        connections = self._connections or self._opened()
        connection = connections.take()
        try:
            yield connection
        finally:
            connections.give(connection)

    def _opened(self) -> Connections:
        settings = self.settings
        with self._lock:
            if self._connections is None:
                reachable(settings.dsn)
                connections = Connections(settings.dsn, self._max_connections, settings.clock)
                connections.open()
                self._connections = connections
            return self._connections

    def close(self) -> None:
        """Close all connections. The embedded server keeps running."""
        if self._connections is not None:
            self._connections.close()
            self._connections = None
        if self._line is not None:
            self._line.close()
            self._line = None

    def __enter__(self) -> Tenure:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class Within(Tenure):
    """The sync client bound to one connection of the caller."""

    def __init__(self, client: Tenure, connection: psycopg.Connection[Any]) -> None:
        super().__init__(*client._given[:1])
        self.reach_the_database()
        self._client = client
        self.connection = connection

    @property
    def settings(self) -> Settings:
        """The settings of the client."""
        return self._client.settings

    @property
    def caller(self) -> Caller:
        """The identity of the client."""
        return replace(self._client.caller, joins=True)

    @contextmanager
    def transaction(self) -> Iterator[Within]:
        """A savepoint within the caller's transaction."""
        with self.connection.transaction():
            yield self

    def perform(self, make: Callable[[Caller], Op[T]]) -> T:
        """Run an operation on the caller's connection, within its transaction."""
        caller = self.caller
        if self.settings.clock is not None:
            self.connection.execute(*clock_setting(self.settings.clock()))
        return run(self.connection, make(caller), prepare=False)


class AsyncTenure(Actions, TaskRegistry, Inbox, Reaching):
    """The async client: the same actions, awaited."""

    def __init__(
        self, dsn: str | None = None, *, tenant: str | None = None, actor: str | None = None, clock: Clock | None = None,
        notify: bool = True, max_connections: int = 10, create_tenant: bool = False, url: str | None = None,
        token: str | None = None,
    ) -> None:  # fmt: skip
        TaskRegistry.__init__(self)
        Inbox.__init__(self)
        Reaching.__init__(self, dsn, url, token)
        self._given = (dsn, tenant, actor, clock, notify)
        self._create_tenant = create_tenant
        self._max_connections = max_connections
        self._settings: Settings | None = None
        self._lock = asyncio.Lock()
        self._connections: AsyncConnections | None = None
        self._caller: Caller | None = None
        self._line: AsyncLine | None = None

    async def send(self, call: Call[T]) -> T:
        """The answer of the server that it reaches."""
        assert self.address is not None
        if self._line is None or self._line.address is not self.address:
            from tenure.sdk.http.async_line import AsyncLine  # noqa: PLC0415 - httpx takes its time, and few need it

            self._line = AsyncLine(self.address)
        return await self._line.perform(call)

    @property
    def settings(self) -> Settings:
        """What the client was given, filled in. Raises NotOverHttp for a client that only reaches a server."""
        if self.address is not None:
            refuse(self.address)
        if self._settings is None:
            self._settings = resolve(*self._given)
        return self._settings

    async def identity(self) -> Caller:
        """Identity and store of the client. Raises NotFound for a tenant that is not there and not to be made."""
        if self._caller is None:
            async with self._connection() as connection:
                settings = self.settings
                create = self._create_tenant or settings.tenant == DEFAULT_TENANT
                store = PostgresStore(notify=settings.notify)
                tenant = await run_own_async(
                    connection, lambda: store.tenant(settings.tenant, create=create, actor=settings.actor)
                )
            self._caller = _caller_of(settings, store, tenant)
        return self._caller

    async def perform(self, make: Callable[[Caller], Op[T]]) -> T:
        """Run an operation on a connection of the pool, in a transaction of its own."""
        caller = self._caller or await self.identity()
        connections = self._connections or await self._opened()
        connection = await connections.take()
        try:
            return await run_own_async(connection, lambda: make(caller))
        finally:
            await connections.give(connection)

    def within(self, transaction: Any) -> AsyncWithin:
        """The same actions inside the caller's own transaction."""
        return AsyncWithin(self, transaction)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncWithin]:
        """A transaction of its own for several actions: all of them or none."""
        await self.identity()
        async with self._connection() as connection, connection.transaction():
            yield AsyncWithin(self, connection)

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[OwnAsyncConnection]:
        connections = self._connections or await self._opened()
        connection = await connections.take()
        try:
            yield connection
        finally:
            await connections.give(connection)

    async def _opened(self) -> AsyncConnections:
        async with self._lock:
            if self._connections is None:
                # The first use may start the embedded server, which takes its time.
                settings = await asyncio.to_thread(lambda: self.settings)
                await asyncio.to_thread(reachable, settings.dsn)
                connections = AsyncConnections(settings.dsn, self._max_connections, settings.clock)
                await connections.open()
                self._connections = connections
            return self._connections

    async def close(self) -> None:
        """Close all connections."""
        if self._connections is not None:
            await self._connections.close()
            self._connections = None
        if self._line is not None:
            await self._line.close()
            self._line = None

    async def __aenter__(self) -> AsyncTenure:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


class AsyncWithin(AsyncTenure):
    """The async client bound to one connection of the caller."""

    def __init__(self, client: AsyncTenure, transaction: Any) -> None:
        super().__init__(*client._given[:1])
        self.reach_the_database()
        self._client = client
        self.transaction_of = transaction
        """What the caller holds: a connection or a session."""

    @property
    def settings(self) -> Settings:
        """The settings of the client."""
        return self._client.settings

    async def identity(self) -> Caller:
        """The identity of the client."""
        return replace(await self._client.identity(), joins=True)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[AsyncWithin]:
        """A savepoint within the caller's transaction."""
        connection = await async_connection_of(self.transaction_of)
        async with connection.transaction():
            yield self

    async def perform(self, make: Callable[[Caller], Op[T]]) -> T:
        """Run an operation on the caller's connection, within its transaction."""
        caller = await self.identity()
        connection = await async_connection_of(self.transaction_of)
        if self.settings.clock is not None:
            await connection.execute(*clock_setting(self.settings.clock()))
        return await run_async(connection, make(caller), prepare=False)
