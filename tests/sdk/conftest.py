"""Clients on a fresh database, with a table of the caller's own beside Tenure's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
import pytest_asyncio

from tenure import AsyncTenure, Tenure


@pytest.fixture
def database_with_orders(migrated_database: str) -> str:
    """A migrated database with a table ``orders`` of somebody else."""
    with psycopg.connect(migrated_database) as connection:
        connection.execute("create table orders (number int primary key)")
    return migrated_database


@pytest.fixture
def app(database_with_orders: str) -> Iterator[Tenure]:
    """A sync client with the queue ``q``."""
    with Tenure(database_with_orders, actor="user:ada") as app:
        app.define_queue("q")
        yield app


@pytest_asyncio.fixture
async def async_app(database_with_orders: str) -> AsyncIterator[AsyncTenure]:
    """An async client with the queue ``q``."""
    async with AsyncTenure(database_with_orders, actor="user:ada") as app:
        await app.define_queue("q")
        yield app
