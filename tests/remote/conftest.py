"""A real server that the tests of the border share, and a tenant with a node for each test."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import psycopg
import pytest

from tenure.api.settings import ServerSettings
from tenure.testing.clock import MovableClock
from tests.api.conftest import Running, Site, running
from tests.databases import fresh_database
from tests.remote.border import Border

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def border_database(admin: psycopg.Connection, pg_server: str, migrated_template: str) -> Iterator[str]:
    """One database for all tests of the border that make a tenant of their own."""
    yield from fresh_database(admin, pg_server, migrated_template)


@pytest.fixture(scope="session")
def clock() -> MovableClock:
    """The time of the shared server and of those who act beside it. Tests only ever move it forward."""
    return MovableClock()


@pytest.fixture(scope="session")
def server(border_database: str, clock: MovableClock) -> Iterator[Running]:
    """The server that the tests share."""
    settings = ServerSettings(
        dsn=border_database, clock=clock, rate_per_second=100_000, rate_burst=100_000, anonymous_burst=100_000, ui=False
    )
    with running(settings) as made:
        yield made


@pytest.fixture
def site(server: Running) -> Iterator[Site]:
    made = Site(server, f"border{next(_numbers)}")
    yield made
    made.close()


@pytest.fixture
def border(site: Site) -> Border:
    return Border(site)
