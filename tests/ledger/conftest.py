"""A database for all tests of a module, a bench over each store, and real receivers and relays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import psycopg
import pytest

from tests.databases import fresh_database
from tests.ledger.post import Post
from tests.ledger.receiver import Receiver
from tests.store.harness import STORES, Bench, bench_on, memory_bench

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def shared_database(admin: psycopg.Connection, pg_server: str, migrated_template: str) -> Iterator[str]:
    """One database for all tests of a module that each make a tenant of their own."""
    yield from fresh_database(admin, pg_server, migrated_template)


@pytest.fixture(scope="module")
def shared_connection(shared_database: str) -> Iterator[psycopg.Connection]:
    """One autocommit connection for all tests of a module."""
    with psycopg.connect(shared_database, autocommit=True) as connection:
        yield connection


@pytest.fixture(params=STORES)
def bench(request: pytest.FixtureRequest) -> Bench:
    """A tenant of its own on each store, one after the other."""
    if request.param == "memory":
        return memory_bench()
    return bench_on(request.getfixturevalue("shared_connection"), f"lab{next(_numbers)}")


@pytest.fixture
def post(shared_database: str) -> Iterator[Post]:
    """A tenant with what is sent of it. Whatever a test did, facts and rows tell the same story afterwards."""
    made = Post(shared_database)
    yield made
    report = made.client.verify()
    assert report.clean, report.first
    made.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Where events are sent to."""
    with Receiver() as made:
        yield made
