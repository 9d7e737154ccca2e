"""A connection that tells the plan of everything it ran: the product's own path, its triggers and functions included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg

from tenure.sdk.session import opened
from tenure.store.operation import Ahead, Landing, Op, Statement, Step
from tenure.store.postgres.runner import run
from tests.store.plan import Plan

T = TypeVar("T")

# auto_explain is EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) of what really runs, prepared as the driver prepares it.
_TELL = (
    "load 'auto_explain'; set auto_explain.log_min_duration = 0; set auto_explain.log_analyze = on;"
    "set auto_explain.log_buffers = on; set auto_explain.log_timing = off; set auto_explain.log_format = json;"
    "set auto_explain.log_nested_statements = on;"
    "set auto_explain.log_level = notice; set client_min_messages = notice"
)


@dataclass
class Ran:
    """One statement file that ran, and the plans of what its triggers and functions ran."""

    statement: str
    plan: Plan
    nested: list[Plan] = field(default_factory=list)

    @property
    def buffers(self) -> int:
        """Pages touched by the statement and everything below it."""
        return self.plan.buffers + sum(plan.buffers for plan in self.nested)


class Explained:
    """One session. ``mode`` is its plan_cache_mode; ``ours`` sets what Tenure sets on connections of its own."""

    def __init__(self, dsn: str, mode: str, *, ours: bool = True) -> None:
        self.connection = psycopg.connect(dsn, autocommit=True)
        if ours:
            opened(self.connection)
        self.connection.execute(f"set plan_cache_mode = {mode}")
        self.connection.execute(_TELL)
        if self.connection.info.server_version >= 160000:  # before, there were no parameters in it
            self.connection.execute("set auto_explain.log_parameter_max_length = 0")
        self.connection.add_notice_handler(self._hear)
        self._heard: list[Plan] = []
        # Tenure never prepares anything on a connection that is not its own.
        self._prepares = ours

    def close(self) -> None:
        self.connection.close()

    def _hear(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        _, plan, document = (diagnostic.message_primary or "").partition("plan:\n")
        if plan:
            self._heard.append(Plan.of(document))

    def run(self, op: Op[T]) -> tuple[T, list[Ran]]:
        """Drive ``op``; its result and what ran."""
        ran: list[Ran] = []
        self._heard.clear()
        answer = run(self.connection, self._watched(op, ran), prepare=self._prepares)
        return answer, ran

    def _watched(self, op: Op[T], ran: list[Ran]) -> Op[T]:
        answer: Any = None
        while True:
            try:
                step = op.send(answer)
            except StopIteration as stop:
                result: T = stop.value
                return result
            if isinstance(step, Landing):
                answer = step.ticket
                continue
            self._heard.clear()
            # What is sent ahead is waited for at once, so that its plan is known to be its own.
            answer = yield step.statement if isinstance(step, Ahead) else step
            # A select within a transaction is only over, and told of, when the next statement takes its portal.
            self.connection.execute("set extra_float_digits = 1", prepare=False)
            if self._heard:
                *nested, own = self._heard
                ran.append(Ran(_name(step), own, nested))

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Whatever happens within is rolled back."""
        # Past the driver, which forgets all that it has prepared when it sees a rollback.
        self.connection.pgconn.exec_(b"begin")
        try:
            yield
        finally:
            self.connection.pgconn.exec_(b"rollback")

    def prepared(self) -> list[tuple[str, int, int]]:
        """Each statement that the session has prepared, with how often its plan was a generic and a custom one."""
        rows = self.connection.execute(
            "select statement, generic_plans, custom_plans from pg_prepared_statements order by prepare_time",
            prepare=False,
        )
        return rows.fetchall()


def _name(step: Step) -> str:
    if isinstance(step, Ahead):
        return step.statement.name
    return step.name if isinstance(step, Statement) else type(step).__name__.lower()
