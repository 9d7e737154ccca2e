"""Both adapters of the journal keep its contract."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tenure.testing.journal_contract import JournalContract
from tests.flow.benches import MemoryBench, PostgresBench


class TestMemoryJournal(JournalContract):
    @pytest.fixture
    def journal(self) -> MemoryBench:
        return MemoryBench()


class TestPostgresJournal(JournalContract):
    @pytest.fixture
    def journal(self, migrated_database: str) -> Iterator[PostgresBench]:
        with psycopg.connect(migrated_database, autocommit=True) as connection:
            yield PostgresBench(connection)
