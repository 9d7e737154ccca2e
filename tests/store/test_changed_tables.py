"""Tables that get columns under connections that are open: what they had prepared is prepared anew, and nobody notices."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import psycopg
import pytest
import pytest_asyncio

from tenure.model.errors import SchemaChanged, StoreUnavailable
from tenure.sdk.session import opened, opened_async
from tenure.store.operation import Op, Statement
from tenure.store.postgres.own_connection import OwnAsyncConnection, OwnConnection
from tenure.store.postgres.runner import run, run_own, run_own_async
from tenure.store.postgres.store import PostgresStore

STORE = PostgresStore()
LOOK = Statement("queues", {"tenant": 1, "keys": None})


@pytest.fixture
def connection(migrated_database: str) -> Iterator[OwnConnection]:
    with OwnConnection.connect(migrated_database, autocommit=True) as made:
        opened(made)
        yield made


@pytest_asyncio.fixture
async def async_connection(migrated_database: str) -> AsyncIterator[OwnAsyncConnection]:
    async with await OwnAsyncConnection.connect(migrated_database, autocommit=True) as made:
        await opened_async(made)
        yield made


class Looking:
    """An operation that writes, which is committed at once, and then looks; or both within a transaction of its own."""

    def __init__(self) -> None:
        self.passes = 0

    def alone(self) -> Op[int]:
        self.passes += 1
        yield from STORE.tenant(f"lab{self.passes}", create=True, actor="user:ada")
        return len((yield LOOK))

    def within(self) -> Op[int]:
        return STORE.transaction(self.alone())


@pytest.fixture
def looking() -> Looking:
    return Looking()


def grow(dsn: str, name: str = "later") -> None:
    """What a migration does that adds a column."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"alter table tenure.queue add column {name} text")


def tenants(dsn: str) -> list[Any]:
    with psycopg.connect(dsn) as connection:
        return [key for (key,) in connection.execute("select key from tenure.tenant order by 1").fetchall()]


def test_a_statement_of_its_own_is_sent_again_and_nothing_that_was_done_before_it(
    migrated_database: str, connection: OwnConnection, looking: Looking
) -> None:
    run_own(connection, looking.alone)
    grow(migrated_database)

    assert run_own(connection, looking.alone) == 0
    assert looking.passes == 2


async def test_so_is_one_of_an_async_connection(
    migrated_database: str, async_connection: OwnAsyncConnection, looking: Looking
) -> None:
    await run_own_async(async_connection, looking.alone)
    grow(migrated_database)

    assert await run_own_async(async_connection, looking.alone) == 0
    assert looking.passes == 2


def test_a_whole_transaction_of_an_operation_is_done_again(
    migrated_database: str, connection: OwnConnection, looking: Looking
) -> None:
    run_own(connection, looking.within)
    grow(migrated_database)

    assert run_own(connection, looking.within) == 0
    assert looking.passes == 3
    assert tenants(migrated_database) == ["lab1", "lab3"]  # the second was rolled back


async def test_so_is_one_of_an_async_connection_as_a_whole(
    migrated_database: str, async_connection: OwnAsyncConnection, looking: Looking
) -> None:
    await run_own_async(async_connection, looking.within)
    grow(migrated_database)

    assert await run_own_async(async_connection, looking.within) == 0
    assert tenants(migrated_database) == ["lab1", "lab3"]


def test_every_statement_that_was_prepared_is_forgotten_at_once(
    migrated_database: str, connection: OwnConnection, looking: Looking
) -> None:
    def both() -> Op[None]:
        looking.passes += 1
        yield LOOK
        yield Statement("lock_queues", {"tenant": 1, "keys": ["q"]})

    run_own(connection, lambda: STORE.transaction(both()))
    for name in ("later", "later_still"):
        looking.passes = 0
        grow(migrated_database, name)
        run_own(connection, lambda: STORE.transaction(both()))
        assert looking.passes == 2


def test_a_callers_transaction_is_told_to_be_run_again(migrated_database: str, connection: OwnConnection) -> None:
    def look() -> Op[int]:
        return len((yield LOOK))

    run(connection, look())
    grow(migrated_database)

    with pytest.raises(SchemaChanged, match="Run the transaction again") as told, connection.transaction():
        run(connection, look())
    assert told.value.code == "schema_changed"
    assert isinstance(told.value, StoreUnavailable)  # whoever tries again where the database was away does so here

    with connection.transaction():
        assert run(connection, look()) == 0
