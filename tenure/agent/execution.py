"""An execution as the node knows it: one attempt of one submission, from the order to its last event."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from tenure.remote.model.contracts import ExecutionEvent, Work
from tenure.remote.model.fields import Contract, ExecutionState, Failure


class Stage(StrEnum):
    """How far the node has come with it. Each is written down before the step that follows it is taken."""

    RECEIVED = "received"
    """It was given; its input is to be fetched and its script written."""
    PREPARED = "prepared"
    """Its folder is ready."""
    SUBMITTING = "submitting"
    """The scheduler is about to get it, or has it: only ``find`` tells."""
    SUBMITTED = "submitted"
    """The scheduler has it, and its job's id is written down."""
    RUNNING = "running"
    """It was seen running."""
    BRINGING = "bringing"
    """It has ended; what it left is to be brought into its folder."""
    COLLECTING = "collecting"
    """What it left is to be put into the payload store."""
    ENDED = "over"
    """Nothing is left to do but to send its events."""


#: The stages in which a job of the scheduler belongs to it.
WITH_JOB = (Stage.SUBMITTED, Stage.RUNNING)


class JobOutcome(Contract):
    """How its job ended, kept until results are collected. Without a failure it completed."""

    failure: Failure | None = None
    exit_code: int | None = None
    detail: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Execution:
    """One row of what the agent keeps. Times are seconds since the epoch, by the node's clock."""

    number: int
    work: Work
    stage: Stage
    stage_at: float
    received_at: float
    job_id: str | None = None
    slurm_job_id: str | None = None
    partition: str | None = None
    qos: str | None = None
    restarts: int = 0
    reported: ExecutionState | None = None
    """The state that was told last."""
    reported_at: float | None = None
    cancel_at: float | None = None
    """When the server asked for its end."""
    absent_at: float | None = None
    """Since when its scheduler has not known its job."""
    problem: str | None = None
    """What somebody must look at."""
    outcome: JobOutcome | None = None
    attempts: int = 0
    not_before: float = 0.0

    @property
    def execution_id(self) -> str:
        """Its id, which is also the key of its job."""
        return self.work.execution_id


@dataclass(frozen=True, slots=True)
class Change:
    """An execution as it is from now on, and what the server is to be told: written down together."""

    execution: Execution
    events: tuple[ExecutionEvent, ...] = ()
