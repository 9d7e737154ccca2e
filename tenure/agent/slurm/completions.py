"""Reads the file of ``jobcomp/filetxt``: one line for each job that ended, written by the controller, kept for ever.

It proves the end of a job that ``squeue`` has forgotten (``MinJobAge``). A job that is requeued gets a line, too, with the
state PENDING: that is no end. Names of jobs may hold anything, even line ends, so a user of the cluster who knows the
number and the key of a job could write a line that looks like its end; it counts only once ``squeue`` does not know the job.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tenure.agent.slurm.record import Record, wait_status

_LINE = re.compile(
    r"^JobId=(?P<job>\d+) UserId=[^\s()]*\((?P<user>\d+)\) GroupId=[^\s()]*\(\d+\) Name=(?P<name>.*?)"
    r" JobState=(?P<state>[A-Z_]+) Partition=(?P<partition>\S*) (?P<rest>.*)$"
)
_FIELD = re.compile(r"(StartTime|EndTime|SubmitTime|NodeList|QOS|ExitCode)=(\S*)")
_PASSING = {"PENDING", "RUNNING", "REQUEUED", "SUSPENDED", "COMPLETING"}


def ended(file: Path, limit: int, wanted: Callable[[Record], bool]) -> list[Record]:
    """The last line of each wanted job that has ended, from the last ``limit`` bytes; empty where it cannot be read."""
    try:
        with file.open("rb") as stream:
            stream.seek(max(0, stream.seek(0, 2) - limit))
            lines = stream.read(limit).decode(errors="replace").splitlines()
    except OSError:
        return []
    last: dict[str, Record] = {}
    for line in lines:
        record = _record(line)
        if record is not None and wanted(record):
            last[record.job_id] = record
    return [record for record in last.values() if record.state not in _PASSING]


def _record(line: str) -> Record | None:
    match = _LINE.match(line)
    if match is None:
        return None
    fields = dict(_FIELD.findall(match["rest"]))
    return Record(
        job_id=match["job"],
        name=match["name"],
        state=match["state"],
        user_id=int(match["user"]),
        wait_status=wait_status(fields.get("ExitCode", "")),
        partition=match["partition"] or None,
        qos=fields.get("QOS") or None,
        nodes="" if fields.get("NodeList") in (None, "(null)") else fields["NodeList"],
        submitted=_time(fields.get("SubmitTime")),
        started=_time(fields.get("StartTime")),
        ended=_time(fields.get("EndTime")),
    )


def _time(told: str | None) -> datetime | None:
    """The file has the local time of the controller's host, which is taken for ours."""
    try:
        return datetime.fromisoformat(told or "").astimezone()
    except ValueError:
        return None
