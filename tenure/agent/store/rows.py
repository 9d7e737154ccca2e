"""Rows of the agent's file, and the values that they stand for."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from tenure.agent.execution import Execution, JobOutcome, Stage
from tenure.remote.model.contracts import Work
from tenure.remote.model.fields import ExecutionState

_AS_THEY_ARE = (
    "number", "stage_at", "received_at", "job_id", "slurm_job_id", "partition", "qos", "restarts", "reported_at",
    "cancel_at", "absent_at", "problem", "attempts", "not_before",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OutboxEvent:
    """An event that is owed to the server."""

    number: int
    event_id: str
    execution_id: str
    body: str
    attempts: int
    made_at: float
    said: str | None


@dataclass(frozen=True, slots=True)
class Request:
    """Something that somebody asks of the agent by a command."""

    number: int
    kind: str
    value: str


def execution_of(row: sqlite3.Row, known: dict[str, Work]) -> Execution:
    """The execution of a row. What was ordered never changes: it is read once, and kept in ``known``."""
    work = known.get(row["execution_id"])
    if work is None:
        work = known[row["execution_id"]] = Work.model_validate_json(row["work"])
    return Execution(
        work=work, stage=Stage(row["stage"]),
        reported=ExecutionState(row["reported"]) if row["reported"] else None,
        outcome=JobOutcome.model_validate_json(row["outcome"]) if row["outcome"] else None,
        **{name: row[name] for name in _AS_THEY_ARE},
    )  # fmt: skip


def row_of(execution: Execution) -> dict[str, Any]:
    """The parameters that write an execution."""
    outcome = execution.outcome
    return {
        "execution_id": execution.execution_id, "stage": str(execution.stage),
        "reported": str(execution.reported) if execution.reported else None,
        "outcome": outcome.model_dump_json(exclude_none=True) if outcome else None,
        **{name: getattr(execution, name) for name in _AS_THEY_ARE},
    }  # fmt: skip


def event_of(row: sqlite3.Row) -> OutboxEvent:
    """The event of a row."""
    return OutboxEvent(
        row["number"], row["event_id"], row["execution_id"], row["body"], row["attempts"], row["made_at"], row["said"]
    )
