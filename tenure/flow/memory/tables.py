"""The rows of runs in memory. They share the undo of the store's data, so that a transaction undoes both."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tenure.flow.journal import Checkpoint
from tenure.flow.rows import RunnableRow, RunRow, ScheduleRow, WorkflowRow
from tenure.store.memory.data import Data, Table


class FlowTables:
    """What ``tenure.flow`` keeps beside the data of a memory store."""

    def __init__(self, data: Data | None = None, clock: Callable[[], datetime] | None = None) -> None:
        self.data = data if data is not None else Data(clock or (lambda: datetime.now(UTC)))
        undo = self.data.undo
        self.workflows: Table[int, WorkflowRow] = Table(undo)
        self.runs: Table[int, RunRow] = Table(undo)
        self.schedules: Table[int, ScheduleRow] = Table(undo)
        self.run_keys: Table[tuple[int, str, str], int] = Table(undo)
        self.runnables: Table[int, RunnableRow] = Table(undo)
        self.began: Table[int, int] = Table(undo)
        """The threads that there are, with their tenants."""
        self.payloads: Table[int, Any] = Table(undo)
        self.checkpoints: Table[int, Checkpoint] = Table(undo)
