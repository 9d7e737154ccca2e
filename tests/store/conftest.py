"""A laboratory, or a bench over every store, for each test that asks for one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import psycopg
import pytest

from tenure.store.postgres.own_connection import OwnConnection, Session
from tests.databases import fresh_database
from tests.store.actions import NOON, Lab
from tests.store.harness import STORES, Bench, bench_on, memory_bench

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def shared_database(admin: psycopg.Connection, pg_server: str, migrated_template: str) -> Iterator[str]:
    """One database for all tests of a module, where each example makes a tenant of its own or writes nothing."""
    yield from fresh_database(admin, pg_server, migrated_template)


@pytest.fixture(scope="module")
def built_lab(shared_database: str) -> Iterator[Lab]:
    """Tenant, queue ``q``, worker ``w`` and a standing clock, built once for a module."""
    made = Lab(shared_database)
    yield made
    made.close()


@pytest.fixture
def lab(built_lab: Lab) -> Iterator[Lab]:
    """The laboratory as it was built: whatever a test does to it is rolled back."""
    with built_lab.connection.transaction(force_rollback=True):
        yield built_lab
    built_lab.at(NOON)


@pytest.fixture(scope="module")
def shared_connection(shared_database: str) -> Iterator[psycopg.Connection]:
    """One autocommit connection for all tests of a module."""
    with OwnConnection.connect(shared_database, autocommit=True) as connection:
        connection.session = Session(pooled=False)
        yield connection


@pytest.fixture(params=STORES)
def bench(request: pytest.FixtureRequest) -> Bench:
    """A tenant of its own on each store, one after the other."""
    if request.param == "memory":
        return memory_bench()
    return bench_on(request.getfixturevalue("shared_connection"), f"lab{next(_numbers)}")
