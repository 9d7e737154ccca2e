"""Two tenants on one database, and a server's gateway to it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from tenure.api.gateway import Gateway
from tenure.engine.authentication import authenticate
from tenure.model.principal import Identity
from tenure.sdk.client import Tenure
from tenure.testing.clock import MovableClock


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def ours(migrated_database: str, clock: MovableClock) -> Any:
    """A trusted client of the tenant ``ours``."""
    with Tenure(migrated_database, tenant="ours", actor="user:root", clock=clock) as client:
        yield client


@pytest.fixture
def theirs(migrated_database: str, clock: MovableClock) -> Any:
    """A trusted client of another tenant."""
    with Tenure(migrated_database, tenant="theirs", actor="user:root", clock=clock) as client:
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


Asker = Callable[..., Any]


@pytest.fixture
def identity_of(gateway: Gateway) -> Asker:
    """Makes a principal with roles in a client's tenant; the identity that its token proves to the gateway."""

    async def make(client: Tenure, name: str, *roles: str) -> Identity:
        client.create_principal(name, roles=roles)
        digest = client.create_token(name).secret.digest
        return await gateway.perform_unbound(lambda store: authenticate(store, digest))

    return make
