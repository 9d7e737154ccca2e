"""Each test of runs runs over both stores."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tests.flow.lab import FlowLab, memory_lab, postgres_lab
from tests.store.harness import STORES


@pytest.fixture(params=STORES)
def lab(request: pytest.FixtureRequest) -> Iterator[FlowLab]:
    if request.param == "memory":
        made = memory_lab()
        yield made
        _check(made)
        return
    with psycopg.connect(request.getfixturevalue("migrated_database"), autocommit=True) as connection:
        made = postgres_lab(connection)
        yield made
        _check(made)


@pytest.fixture
def pg(migrated_database: str) -> Iterator[FlowLab]:
    """On PostgreSQL, where whoever waits for a lock is refused."""
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        connection.execute("set lock_timeout = '500ms'")
        made = postgres_lab(connection)
        yield made
        _check(made)


def _check(lab: FlowLab) -> None:
    """Whatever a test did, facts and rows tell the same story afterwards."""
    if not lab.tampered:
        report = lab.verified()
        assert report.clean, report.first
