"""Reads what ``squeue --json`` prints: all jobs that the controller remembers, with one question.

Seen: Slurm 22.05, which leaves out nothing, whatever its filters say, and tells ``exit_code`` as the raw wait status; and
24.11, where a number may be an object that says whether it is set, ``job_state`` is a list, and ``exit_code`` an object.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from tenure.agent.scheduler import SchedulerUnavailable
from tenure.agent.slurm.record import REVOKED, Record

ARGUMENTS = ("--json", "--all", "--states=all", "--me", "--local")
"""``--all`` for hidden partitions, ``--states=all`` for jobs that have ended; versions before 23.02 give them unasked.

``--local``: in a federation the view of our own cluster, where a job has one row whichever cluster runs it.
"""

READ = (
    "job_id", "name", "comment", "job_state", "state_reason", "user_id", "exit_code", "restart_cnt", "partition", "qos", "nodes",
    "submit_time", "start_time", "end_time",
)  # fmt: skip
"""What is read of a job."""

#: States that say what happens to a job now; beside them the list of newer versions has what it was or will be.
_PASSING = (
    "COMPLETING", "CONFIGURING", "REQUEUE_HOLD", "SPECIAL_EXIT", "REQUEUE_FED", "REQUEUED", "RESV_DEL_HOLD",
    "STAGE_OUT", "STOPPED", "SIGNALING", "RESIZING", "UPDATE_DB", "POWER_UP_NODE",
)  # fmt: skip


def records(printed: bytes) -> Iterator[Record]:
    """The jobs. Raises SchedulerUnavailable where this is no such answer: nothing may be concluded from half a one."""
    try:
        told = json.loads(printed.decode(errors="replace"))
        errors, jobs = told.get("errors") or [], told["jobs"]
        found = [_record(job) for job in jobs]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SchedulerUnavailable(f"squeue --json printed what cannot be read: {error}") from error
    if errors:
        raise SchedulerUnavailable(f"squeue --json tells of errors: {errors}")
    yield from found


def _record(job: dict[str, Any]) -> Record:
    return Record(
        job_id=str(job["job_id"]),
        name=job["name"] or "",
        comment=job.get("comment") or "",
        state=_state(job["job_state"]),
        reason=_word(job.get("state_reason")),
        user_id=_number(job["user_id"]),
        wait_status=_wait_status(job.get("exit_code")),
        restarts=_number(job.get("restart_cnt")),
        partition=job.get("partition") or None,
        qos=job.get("qos") or None,
        nodes=_word(job.get("nodes")),
        submitted=_time(job.get("submit_time")),
        started=_time(job.get("start_time")),
        ended=_time(job.get("end_time")),
        elsewhere=REVOKED in job["job_state"],
    )


def _state(told: str | list[str]) -> str:
    if isinstance(told, str):
        return told
    passing = next((state for state in _PASSING if state in told), None)
    if passing is None and REVOKED in told and told[0] == "PENDING":
        return REVOKED
    return passing or told[0]


def _word(told: str | None) -> str:
    return "" if told in (None, "None", "(null)") else str(told)


def _number(told: int | dict[str, Any] | None) -> int:
    if isinstance(told, dict):
        return int(told.get("number") or 0) if told.get("set") else 0
    return int(told or 0)


def _time(told: int | dict[str, Any] | None) -> datetime | None:
    seconds = _number(told)
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _wait_status(told: int | dict[str, Any] | None) -> int:
    if isinstance(told, dict) and "return_code" in told:
        by_signal = (told.get("signal") or {}).get("id", (told.get("signal") or {}).get("signal_id"))
        return _number(told["return_code"]) << 8 | _number(by_signal)
    return _number(told)
