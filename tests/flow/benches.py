"""The contract's benches over the two adapters of the product."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from psycopg.types.json import Jsonb

from tenure.flow.memory.journal import MemoryJournal
from tenure.flow.memory.tables import FlowTables
from tenure.flow.postgres.journal import PostgresJournal
from tenure.flow.rows import RunRow
from tenure.model import fact_types as ft
from tenure.model.fact import Fact
from tenure.store.operation import Op, run_pure
from tenure.store.postgres.runner import run
from tenure.store.postgres.store import PostgresStore
from tenure.testing.journal_contract import NOON, JournalBench

T = TypeVar("T")


class MemoryBench(JournalBench):
    def __init__(self, tables: FlowTables | None = None) -> None:
        self.tables = tables if tables is not None else FlowTables(clock=lambda: NOON)
        self.storage = MemoryJournal(self.tables)

    def run(self, op: Op[T]) -> T:
        return run_pure(op)

    def reopened(self) -> MemoryBench:
        return MemoryBench(self.tables)  # memory lasts as long as the process

    def damage(self, thread: int, seq: int, **fields: Any) -> None:
        for name, value in fields.items():
            setattr(self._fact(thread, seq), name, value)

    def lose(self, thread: int, seq: int) -> None:
        self.tables.data.facts[thread].remove(self._fact(thread, seq))

    def mix(self, thread: int, seq: int, other: int) -> None:
        facts = self.tables.data.facts[thread]
        facts[facts.index(self._fact(thread, seq))] = self._fact(other, seq)

    def _fact(self, thread: int, seq: int) -> Fact:
        return next(fact for fact in self.tables.data.facts[thread] if fact.seq == seq)


class PostgresBench(JournalBench):
    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.store = PostgresStore()
        self.storage = PostgresJournal(self.store)
        tenant = self.run(self.store.tenant("lab", create=True, actor="user:ada"))
        assert tenant is not None
        self.tenant = tenant
        self.workflow = self._workflow()

    def run(self, op: Op[T]) -> T:
        return run(self.connection, op)

    def reopened(self) -> PostgresBench:
        dsn = self.connection.info.dsn
        self.connection.close()
        self.connection = psycopg.connect(dsn, autocommit=True)
        return PostgresBench(self.connection)

    def row(self, thread: int) -> RunRow:
        return RunRow(thread, self.tenant, self.workflow, "plain", "RUNNING", None, {"n": 1}, b"i" * 32, NOON)

    @contextmanager
    def beside(self) -> Iterator[JournalBench]:
        with psycopg.connect(self.connection.info.dsn, autocommit=True) as another:
            yield PostgresBench(another)

    def damage(self, thread: int, seq: int, **fields: Any) -> None:
        for name, value in fields.items():
            self._tamper(
                f"update tenure.fact set {name} = %s where thread = %s and seq = %s",
                Jsonb(value) if name == "data" else value, thread, seq,
            )  # fmt: skip

    def lose(self, thread: int, seq: int) -> None:
        self._tamper("delete from tenure.fact where thread = %s and seq = %s", thread, seq)

    def mix(self, thread: int, seq: int, other: int) -> None:
        self.lose(thread, seq)
        self._tamper("update tenure.fact set thread = %s where thread = %s and seq = %s", thread, other, seq)

    def lose_checkpoint(self, thread: int) -> None:
        self.connection.execute("delete from tenure.journal_checkpoint where thread = %s", [thread])

    def _tamper(self, statement: str, *values: Any) -> None:
        """What only a superuser with the triggers off can do."""
        self.connection.execute("set session_replication_role = replica")
        self.connection.execute(statement, values)  # type: ignore[arg-type]
        self.connection.execute("set session_replication_role = origin")

    def _workflow(self) -> int:
        found = self.connection.execute("select uid from tenure.workflow").fetchone()
        if found is not None:
            return found[0]
        fact = Fact(2, 1, ft.WORKFLOW_DEFINED, NOON, self.tenant, "user:ada", data={"name": "plain", "version": 1})
        self.connection.execute(
            """with told as (
                insert into tenure.fact (thread, seq, tenant, at, type, actor, data, hash)
                values (2, 1, %(tenant)s, %(at)s, %(type)s, 'user:ada', %(data)s, %(head)s))
            insert into tenure.workflow (uid, tenant, name, version, definition, fingerprint, created_at, seq, head)
            values (2, %(tenant)s, 'plain', 1, '{}', sha256('{}'), %(at)s, 1, %(head)s) on conflict do nothing""",
            {
                "tenant": self.tenant,
                "at": NOON,
                "type": fact.type,
                "data": Jsonb(fact.data),
                "head": fact.content_hash(b""),
            },
        )
        return 2
