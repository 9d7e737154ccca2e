"""What the agent asks of a scheduler (design 04, Adapter boundary). Adapters prove themselves by the conformance suite.

All calls block; the agent makes them in a thread. A key is the execution id: it stands in the job's name and comment, and
is the only thing by which a job whose number was lost can be found again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from tenure.remote.model.contracts import Placement
from tenure.remote.model.fields import Failure, ResourceShape


class Phase(StrEnum):
    """How a job stands with its scheduler."""

    WAITING = "waiting"
    RUNNING = "running"
    ENDING = "ending"
    """Its processes end, or the scheduler cleans up: neither running nor finished."""
    COMPLETED = "completed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JobSpec:
    """What is to run: ``script`` in ``folder``, under ``key``."""

    key: str
    script: Path
    """An executable shell script, written by the agent before it submits."""
    folder: Path
    """The job's working folder; standard output and error go to ``stdout`` and ``stderr`` in it."""
    placement: Placement
    resources: ResourceShape
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class JobStatus:
    """What the scheduler says of one job."""

    job_id: str
    key: str
    phase: Phase
    restarts: int = 0
    """How often the scheduler has begun it anew under the same id."""
    partition: str | None = None
    qos: str | None = None
    failure: Failure | None = None
    """Where ``phase`` is FAILED: the code (such as OUT_OF_MEMORY), a sentence, and whether it may be tried again."""
    detail: str | None = None
    """Why it waits, or what else a person would ask: the scheduler's own words."""
    slurm_job_id: str | None = None
    """The number by which Slurm knows it, where ``job_id`` is another (AiiDA). Once it is known it stays."""
    problem: str | None = None
    """What holds it, where that will not pass by itself: somebody must look. The node tells it as its problem."""
    exit_code: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None


class SchedulerUnavailable(Exception):
    """The scheduler did not answer. Nothing may be concluded, and nothing submitted; ask again later."""


class Rejected(Exception):
    """The scheduler has refused the job for good; ``failure`` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class Scheduler(Protocol):
    """A scheduler. Every call may raise ``SchedulerUnavailable``."""

    name: str
    """Kind and version, such as ``slurm 22.05.8``; known after ``open``."""
    job_ids_are_reported: bool
    """Whether ``submit`` returns what is reported as ``scheduler_ref.slurm_job_id``. Where it does not, that is
    ``JobStatus.slurm_job_id``.
    """
    settle_seconds: float
    """For how long after a submission without an answer (it failed midway, or the agent died in it) the job may still
    turn up in ``find``. Before that time is over it is neither submitted again nor withdrawn.
    """

    def open(self) -> None:
        """Get ready, and see that the scheduler is there."""

    def close(self) -> None:
        """Let go of what ``open`` took. Jobs go on."""

    def find(self, keys: Collection[str]) -> dict[str, JobStatus]:
        """The jobs that were submitted under these keys, whatever became of them, by key. What is absent was not
        submitted, as far as the scheduler remembers.
        """

    def submit(self, job: JobSpec) -> str:
        """Submit it and return the job's id. Raises ``Rejected`` where it will never be taken.

        Where it raises ``SchedulerUnavailable``, the job may be there all the same.
        """

    def withdraw(self, job: JobSpec) -> str | None:
        """The id of the job that a submission without an answer has made; None where there is none, and none will turn up.

        For what is to end and may be on its way to the scheduler still. An id is to be canceled like any other. Raises
        ``SchedulerUnavailable`` for as long as it is not known.
        """

    def poll(self, job_ids: Collection[str]) -> dict[str, JobStatus]:
        """How these jobs stand, by id, with one question to the scheduler. What is absent is unknown: not finished."""

    def cancel(self, job_id: str) -> None:
        """End the job if it has not ended. Its end is seen by ``poll``. An id that it does not know is no error."""

    def collect(self, job_id: str, folder: Path) -> None:
        """Bring ``stdout``, ``stderr`` and ``results/`` of an ended job into its folder, where they are elsewhere."""
