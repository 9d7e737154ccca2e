"""A migration gives tables columns while clients, servers and relays are connected: they work on, and nobody notices."""

from __future__ import annotations

from datetime import UTC, datetime

import psycopg
import pytest

from tenure.api.gateway import Gateway
from tenure.model.principal import Identity, Principal, Role
from tenure.sdk import relay
from tenure.sdk.relay import ROLE, RelayConnections
from tenure.store.port import Store

TABLES = ("worker", "execution", "queue", "attempt", "subject", "fact", "subscription")


def grow(dsn: str) -> None:
    """Give tables a column each, as a migration does."""
    with psycopg.connect(dsn) as connection:
        for table in TABLES:
            connection.execute(f"alter table tenure.{table} add column later text")


def test_a_client_works_on(database_with_orders, app):
    def used() -> int:
        subject = app.submit(queue_key="q").subject
        app.hold(subject, reason="look at it")
        app.inspect(subject)
        app.history(subject)
        return len(app.workers()) + len(app.queues()) + len(app.queue_items("q")) + len(app.leases())

    used()
    grow(database_with_orders)

    assert used() == 1
    assert app.verify().clean


async def test_an_async_client_works_on(database_with_orders, async_app):
    async def used() -> int:
        subject = (await async_app.submit(queue_key="q")).subject
        await async_app.hold(subject, reason="look at it")
        await async_app.inspect(subject)
        await async_app.history(subject)
        found = [await async_app.workers(), await async_app.queues(), await async_app.queue_items("q")]
        return sum(map(len, found))

    await used()
    grow(database_with_orders)

    assert await used() == 1


async def test_a_server_works_on(database_with_orders, app):
    tenant = app.caller.tenant
    somebody = Principal(uid=0, tenant=tenant, name="service:metrics", created_at=datetime.now(UTC))
    identity = Identity(somebody, "default", frozenset({Role.OBSERVER}))
    gateway = Gateway(database_with_orders, max_connections=2)
    await gateway.open()
    try:

        async def used() -> int:
            return len(await gateway.perform(identity, lambda caller: caller.store.queues(caller.tenant)))

        await used()
        grow(database_with_orders)

        assert await used() == 1
    finally:
        await gateway.close()


@pytest.mark.parametrize("act_as", [None, ROLE])
async def test_a_relay_works_on_as_the_owner_of_the_schema_and_in_a_role_of_its_own(
    database_with_orders, app, act_as, monkeypatch
):
    monkeypatch.setattr(relay, "_CONNECTIONS", 1)
    tenant = app.caller.tenant
    connections = RelayConnections(database_with_orders)
    await connections.open()
    connections._act_as = act_as
    try:

        def look(store: Store):
            return store.queues(tenant)

        async def used() -> int:
            return len(await connections.perform_for(tenant, look))

        await used()
        grow(database_with_orders)

        assert await used() == 1
    finally:
        await connections.close()
