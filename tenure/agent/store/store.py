"""The agent's file: executions, the outbox, and how the agent stands."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tenure.agent.execution import Change, Execution, Stage
from tenure.agent.store.opening import FILE, connected, looking, unusable
from tenure.agent.store.rows import OutboxEvent, Request, event_of, execution_of, row_of
from tenure.remote.model.contracts import Work

_STATEMENTS = {
    path.stem: path.read_text(encoding="utf-8") for path in (Path(__file__).parent / "statements").glob("*.sql")
}
_ALL = 1_000_000


class Store:
    """Shared by the agent's threads: one connection, one at a time. Every method is one transaction.

    Raises StateFolderUnusable where the file cannot be written or read (a full disk): then nothing has changed.
    """

    def __init__(
        self, folder: Path, on_change: Callable[[], None] = lambda: None,
        connect: Callable[[Path], sqlite3.Connection] = connected,
    ) -> None:  # fmt: skip
        self._path = folder / FILE
        self._connection = connect(folder)
        self._lock = threading.RLock()
        self._on_change = on_change
        self._known: dict[str, Work] = {}

    @classmethod
    def reading(cls, folder: Path) -> Store:
        """One that only reads, beside a running agent. Raises StateFolderUnusable, StateTooNew."""
        return cls(folder, connect=looking)

    def close(self) -> None:
        """Close the file; a method that is called later raises StateFolderUnusable."""
        with self._lock:
            self._connection.close()

    def receive(self, work: Iterable[Work], now: float) -> list[str]:
        """Write down what was given to this node; the ids of what is new."""
        new = []
        with self._transaction():
            for each in work:
                parameters = {
                    "execution_id": each.execution_id,
                    "work": each.model_dump_json(exclude_none=True),
                    "at": now,
                }
                if self._run("add_execution", **parameters).rowcount:
                    new.append(each.execution_id)
        if new:
            self._on_change()
        return new

    def change(self, execution_id: str, decide: Callable[[Execution], Change | None], now: float) -> Execution | None:
        """Take a step: ``decide`` sees the execution as it is and says how it is from now on (None: as it was).

        The execution and its events are written together. Gives the execution as it is then; None where it is unknown.
        """
        with self._transaction():
            row = self._run("execution", execution_id=execution_id).fetchone()
            if row is None:
                return None
            before = self._execution(row)
            change = decide(before)
            if change is None or (change.execution == before and not change.events):
                return before
            self._run("write_execution", **row_of(change.execution))
            for event in change.events:
                body = event.model_dump_json(exclude_none=True)
                self._run("add_event", event_id=event.event_id, execution_id=execution_id, body=body, at=now)
        if change.execution.stage is Stage.ENDED:
            self._known.pop(execution_id, None)  # nobody asks for it often from now on
        self._on_change()
        return change.execution

    def execution(self, execution_id: str) -> Execution | None:
        """One execution."""
        rows = self._rows("execution", execution_id=execution_id)
        return self._execution(rows[0]) if rows else None

    def due(self, stage: Stage, now: float, at_most: int = _ALL) -> list[Execution]:
        """What is in a stage and due, in the order in which it came."""
        return [
            self._execution(row) for row in self._rows("executions_in_stage", stage=stage, now=now, at_most=at_most)
        ]

    def next_due(self, stage: Stage) -> float | None:
        """When something in a stage is due."""
        at = self._rows("next_due_in_stage", stage=stage)[0]["at"]
        return None if at is None else float(at)

    def open_executions(self) -> list[Execution]:
        """All that have not ended."""
        return [self._execution(row) for row in self._rows("open_executions")]

    def owing(self) -> list[str]:
        """What has ended, and of which the server does not know all yet."""
        return [row["execution_id"] for row in self._rows("owing_executions")]

    def counts(self) -> dict[str, int]:
        """How many executions are in each stage."""
        return {row["stage"]: row["count"] for row in self._rows("count_by_stage")}

    def forget(self, before: float, at_most: int = 100) -> list[Execution]:
        """Forget executions that ended before a time and owe nothing; those that are forgotten."""
        with self._transaction():
            rows = self._run("finished_executions", before=before, at_most=at_most).fetchall()
            for row in rows:
                self._run("forget_events", execution_id=row["execution_id"])
                self._run("forget_execution", execution_id=row["execution_id"])
        forgotten = [self._execution(row) for row in rows]
        for execution in forgotten:
            self._known.pop(execution.execution_id, None)
        return forgotten

    def due_events(self, now: float, at_most: int) -> list[OutboxEvent]:
        """The next event of each execution that owes one, oldest first."""
        return [event_of(row) for row in self._rows("due_events", now=now, at_most=at_most)]

    def next_due_event(self) -> float | None:
        """When the next event is due; None where none is owed."""
        at = self._rows("next_due_event")[0]["at"]
        return None if at is None else float(at)

    def settle(self, event_ids: Iterable[str], standing: str, said: str | None, now: float) -> None:
        """Events that the server took in (``delivered``) or refused for good (``parked``)."""
        with self._transaction():
            for event_id in event_ids:
                self._run("settle_event", event_id=event_id, standing=standing, said=said, at=now)

    def postpone(self, event_id: str, not_before: float, said: str) -> None:
        """An event that is to be sent again."""
        with self._transaction():
            self._run("postpone_event", event_id=event_id, not_before=not_before, said=said)

    def count_events(self) -> dict[str, int]:
        """How many events are waiting, delivered, parked."""
        return {row["standing"]: row["count"] for row in self._rows("count_events")}

    def parked(self, at_most: int = 50) -> list[OutboxEvent]:
        """Events that the server refused for good, newest first."""
        return [event_of(row) for row in self._rows("parked_events", at_most=at_most)]

    def unpark(self) -> int:
        """Send the parked ones again; how many."""
        with self._transaction():
            count = self._run("unpark_events").rowcount
        self._on_change()
        return count

    def conditions(self) -> dict[str, tuple[str, float]]:
        """What the agent has said of itself, and when."""
        return {row["name"]: (row["value"], float(row["at"])) for row in self._rows("conditions")}

    def set_condition(self, name: str, value: str | None, now: float) -> None:
        """Say something of the agent; None takes it back."""
        with self._transaction():
            if value is None:
                self._run("clear_condition", name=name)
            else:
                self._run("set_condition", name=name, value=value, at=now)

    def ask(self, kind: str, value: str, now: float) -> None:
        """Ask something of the agent that works in this folder, now or when it is started."""
        with self._transaction():
            self._run("add_request", kind=kind, value=value, at=now)

    def requests(self) -> list[Request]:
        """What was asked, in that order."""
        return [Request(row["number"], row["kind"], row["value"]) for row in self._rows("requests")]

    def answered(self, request: Request) -> None:
        """A request was seen to."""
        with self._transaction():
            self._run("drop_request", number=request.number)

    def _execution(self, row: sqlite3.Row) -> Execution:
        return execution_of(row, self._known)

    def _run(self, statement: str, **parameters: Any) -> sqlite3.Cursor:
        return self._connection.execute(_STATEMENTS[statement], parameters)

    def _rows(self, statement: str, **parameters: Any) -> list[sqlite3.Row]:
        with self._lock:
            try:
                return self._run(statement, **parameters).fetchall()
            except sqlite3.Error as error:
                raise unusable(self._path, error) from error

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            try:
                self._connection.execute("begin immediate")
                try:
                    yield
                    self._connection.execute("commit")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("rollback")
                    raise
            except sqlite3.Error as error:
                raise unusable(self._path, error) from error
