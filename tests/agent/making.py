"""Executions and jobs as tests need them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from tenure.agent.execution import Execution, Stage
from tenure.agent.local.scheduler import LocalScheduler
from tenure.agent.scheduler import JobSpec, JobStatus, Phase, SchedulerUnavailable
from tenure.agent.settings import LocalSettings
from tenure.remote.model.contracts import Placement, Work
from tenure.remote.model.fields import PayloadRef, ResourceShape

WORK = Work(
    submission_id="SUB1", execution_id="e-1", attempt=1, tenant_id="lab", workspace_id="ws", job_id="job-1",
    trace_id="trace-1", queue_name="short", placement=Placement(partition="cpu"),
    resource_shape=ResourceShape(cpu=1, memory_mib=100, walltime_seconds=3600),
    payload_ref=PayloadRef(input_uri="file:///in.sh"),
)  # fmt: skip
NOW = 1_800_000_000.0


def work(**changes: Any) -> Work:
    return WORK.model_copy(update=changes)


def execution(stage: Stage = Stage.RECEIVED, **changes: Any) -> Execution:
    return replace(Execution(1, WORK, stage, NOW, NOW), **changes)


class Moody(LocalScheduler):
    """The local scheduler, real in all that it does, which can be made to keep silent or to forget."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        super().__init__(folder, LocalSettings.model_validate({"cpu": 16, "grace_seconds": 1, **settings}))
        self.silent = False
        self.loses_answers = 0
        self.falls_silent = False
        """Whether it keeps silent once it has lost an answer."""
        self.forgets: set[str] = set()
        self.breaks: set[str] = set()
        self.takes_none_of: set[str] = set()
        """Executions that it does not take, and gives no answer for."""
        self.deaf_to: set[str] = set()
        """Executions whose cancellation it does not hear."""
        self.on_its_way: set[str] = set()
        """Executions whose submission is under way still: ``find`` shows no job, and there may be one yet."""
        self.lent: str | None = None
        """Whose job each number is now, as if the scheduler had begun to count anew; and that job is done."""
        self.polls: list[int] = []
        self.finds: list[list[str]] = []
        self.submitted: list[str] = []
        self.canceled: list[str] = []

    def _ask(self) -> None:
        if self.silent:
            raise SchedulerUnavailable("it does not answer, as the test wants it.")

    def find(self, keys: Collection[str]) -> dict[str, JobStatus]:
        self._ask()
        self.finds.append(list(keys))
        hidden = self.forgets | self.on_its_way
        return {key: status for key, status in super().find(keys).items() if key not in hidden}

    def submit(self, job: JobSpec) -> str:
        self._ask()
        if job.key in self.breaks:
            raise ZeroDivisionError("a defect")
        if job.key in self.takes_none_of:
            raise SchedulerUnavailable("it takes none now.")
        job_id = super().submit(job)
        self.submitted.append(job.key)
        if self.loses_answers:
            self.loses_answers -= 1
            self.silent = self.falls_silent
            raise SchedulerUnavailable("its answer was lost.")
        return job_id

    def withdraw(self, job: JobSpec) -> str | None:
        self._ask()
        if job.key in self.on_its_way:
            raise SchedulerUnavailable("what submits it is under way.")
        return super().withdraw(job)

    def poll(self, job_ids: Collection[str]) -> dict[str, JobStatus]:
        self._ask()
        self.polls.append(len(job_ids))
        if self.lent is not None:
            return {job_id: JobStatus(job_id, self.lent, Phase.COMPLETED) for job_id in job_ids}
        return {job_id: status for job_id, status in super().poll(job_ids).items() if status.key not in self.forgets}

    def cancel(self, job_id: str) -> None:
        self._ask()
        if self.deaf_to & {key for key, number in self._keys.items() if number == job_id}:
            raise SchedulerUnavailable("it does not hear.")
        self.canceled.append(job_id)
        super().cancel(job_id)
