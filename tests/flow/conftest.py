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
        yield memory_lab()
        return
    with psycopg.connect(request.getfixturevalue("migrated_database"), autocommit=True) as connection:
        yield postgres_lab(connection)
