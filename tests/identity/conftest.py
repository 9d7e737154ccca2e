"""Two tenants on one database, and a server's gateway to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import psycopg
import pytest

from tenure.api.application import create_application
from tenure.api.gateway import Gateway
from tenure.api.settings import ServerSettings
from tenure.engine.authentication import authenticate
from tenure.model.principal import Identity
from tenure.sdk.client import Tenure
from tenure.testing.clock import MovableClock
from tests.databases import fresh_database


@pytest.fixture(scope="module")
def module_database(admin: psycopg.Connection, pg_server: str, migrated_template: str) -> Iterator[str]:
    """One migrated database for all tests of a module."""
    yield from fresh_database(admin, pg_server, migrated_template)


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def ours(migrated_database: str, clock: MovableClock) -> Any:
    """A trusted client of the tenant ``ours``."""
    with Tenure(migrated_database, tenant="ours", create_tenant=True, actor="user:root", clock=clock) as client:
        yield client


@pytest.fixture
def theirs(migrated_database: str, clock: MovableClock) -> Any:
    """A trusted client of another tenant."""
    with Tenure(migrated_database, tenant="theirs", create_tenant=True, actor="user:root", clock=clock) as client:
        yield client


@pytest.fixture(params=["direct", "pooled"])
async def gateway(
    request: pytest.FixtureRequest, migrated_database: str, clock: MovableClock
) -> AsyncIterator[Gateway]:
    """A server's gateway: straight to PostgreSQL, and through PgBouncer in transaction mode."""
    dsn = migrated_database
    if request.param == "pooled":
        dsn = request.getfixturevalue("pooled")(dsn)
    made = Gateway(dsn, max_connections=2, clock=None if request.param == "pooled" else clock)
    await made.open()
    yield made
    await made.close()


@pytest.fixture
async def served(migrated_database: str, clock: MovableClock, ours: Tenure) -> AsyncIterator[Serve]:
    """Starts servers in this process: ``await served(**settings)`` gives an HTTP client of one."""
    assert ours.caller.tenant  # it is made on first use
    async with AsyncExitStack() as opened:

        async def serve(*, address: str = "192.0.2.1", **settings: Any) -> httpx.AsyncClient:
            settings = {"public_url": "https://tenure.test", "ui": False, "max_connections": 4} | settings
            application = create_application(
                ServerSettings(dsn=migrated_database, tenant="ours", clock=clock, **settings)
            )
            await opened.enter_async_context(application.router.lifespan_context(application))
            transport = httpx.ASGITransport(application, client=(address, 1))
            client = httpx.AsyncClient(transport=transport, base_url="https://tenure.test")
            return await opened.enter_async_context(client)

        yield serve


@pytest.fixture
async def http(served: Serve) -> httpx.AsyncClient:
    """An HTTP client of a server as it is by default."""
    return await served()


Serve = Callable[..., Awaitable[httpx.AsyncClient]]
Asker = Callable[..., Any]


@pytest.fixture
def identity_of(gateway: Gateway) -> Asker:
    """Makes a principal with roles in a client's tenant; the identity that its token proves to the gateway."""

    async def make(client: Tenure, name: str, *roles: str) -> Identity:
        client.create_principal(name, roles=roles)
        digest = client.create_token(name).secret.digest
        return await gateway.perform_unbound(lambda store: authenticate(store, digest))

    return make
