"""What the files of a local job say of it."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tenure.agent.scheduler import JobSpec, JobStatus, Phase, Rejected
from tenure.agent.sentences import failure_with
from tenure.remote.model.fields import Failure


def status_of(
    job_id: str, job: Mapping[str, Any], *, begun: Mapping[str, Any] | None, end: Mapping[str, Any] | None
) -> JobStatus:
    """How a job stands. Begun and without an end it is taken to run."""
    status = JobStatus(job_id, str(job["key"]), Phase.WAITING, partition=job.get("partition"), qos=job.get("qos"))
    if end is not None:
        failure = _failure(job, end)
        return replace(
            status, phase=Phase.FAILED if failure else Phase.COMPLETED, failure=failure, exit_code=end.get("exit_code"),
            started_at=_time(end.get("started_at")), ended_at=_time(end.get("ended_at")),
        )  # fmt: skip
    if begun is not None:
        return replace(status, phase=Phase.RUNNING, started_at=_time(begun.get("started_at")))
    return replace(status, detail="It waits for cores or memory of this machine.")


def refused(job: JobSpec, cpu: int, memory_mib: int) -> Rejected | None:
    """Why it will never run here, if so."""
    for asked, there, unit in (
        (job.resources.cpu, cpu, "cores"),
        (job.resources.memory_mib, memory_mib, "MiB of memory"),
    ):
        if asked > there:
            said = f"It asks for {asked:,} {unit}, and jobs share {there:,} here."
            return Rejected(failure_with(code="resources_rejected", message=said, retryable=False))
    return None


def _failure(job: Mapping[str, Any], end: Mapping[str, Any]) -> Failure | None:
    reason, code, number = end["reason"], end.get("exit_code"), end.get("signal")
    if reason == "canceled":
        return failure_with(code="CANCELLED", message="It was canceled.", retryable=False)
    if reason == "timeout":
        said = f"It ran longer than the {job['walltime_seconds']:,} s that it had; with more it may be tried again."
        return failure_with(code="TIMEOUT", message=said, retryable=False)
    if reason == "out_of_memory":
        said = f"It took more than the {job['memory_mib']:,} MiB that it had; with more it may be tried again."
        return failure_with(code="OUT_OF_MEMORY", message=said, retryable=False)
    if reason == "lost":
        said = "Its supervisor ended without a word: it was killed, or the machine went down."
        return failure_with(code="NODE_FAIL", message=said, retryable=True)
    if reason == "not_started":
        return failure_with(code="FAILED", message=f"It could not be started: {end.get('said')}.", retryable=False)
    if number is not None:
        name = signal.Signals(number).name if number in set(signal.Signals) else str(number)
        return failure_with(code="FAILED", message=f"It was ended by signal {name}.", retryable=False)
    if code:
        return failure_with(code="FAILED", message=f"It ended with exit status {code}.", retryable=False)
    return None


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
