"""Asks ``sacct``, where the site has accounting: what became of jobs that ``squeue`` has forgotten.

``-X`` leaves out the steps, ``-P`` separates by a bar, ``-D`` shows each beginning of a requeued job in a row of its own.
Its JSON is not used: an exit code of 3 was seen as success there. In a federation the rows of all its clusters are asked for:
that of the cluster where a job was submitted only says that another one has it (REVOKED).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tenure.agent.slurm.command import Programs
from tenure.agent.slurm.record import REVOKED, Record, wait_status

_FIELDS = (
    "JobIDRaw",
    "State",
    "ExitCode",
    "Partition",
    "QOS",
    "Submit",
    "Start",
    "End",
    "NodeList",
    "UID",
    "JobName",
    "Comment",
)
_BATCH = 200


_OPEN = {"PENDING", "RUNNING", "SUSPENDED", "REQUEUED", "RESIZING", REVOKED}


def ended(programs: Programs, job_ids: Collection[str], days: int) -> list[Record]:
    """Those of these jobs that have ended. Raises SchedulerUnavailable.

    A job that the controller does not know and that runs here is a row that nobody has closed: it says nothing.
    """
    return [record for record in _ask(programs, "--jobs", job_ids, days) if record.state not in _OPEN]


def of_keys(programs: Programs, keys: Collection[str], days: int) -> list[Record]:
    """The jobs whose names are these keys, whatever became of them. Raises SchedulerUnavailable."""
    return _ask(programs, "--name", keys, days)


def _ask(programs: Programs, by: str, values: Collection[str], days: int) -> list[Record]:
    found: list[Record] = []
    ordered = sorted(values)
    since = (datetime.now() - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%S")  # noqa: DTZ005 - sacct reads local time
    for start in range(0, len(ordered), _BATCH):
        printed = programs.ask(
            "sacct", "-X", "-P", "-D", "--federation", "--noheader", f"--starttime={since}", f"--user={os.geteuid()}",
            f"{by}={','.join(ordered[start : start + _BATCH])}", f"--format={','.join(_FIELDS)}",
            environment={"SLURM_TIME_FORMAT": "%s"},
        )  # fmt: skip
        found += newest(records(printed.decode(errors="replace")))
    return found


def records(printed: str) -> Iterator[Record]:
    """The rows. The comment is the last column, so that bars in it do no harm; a name of ours has none."""
    for line in printed.splitlines():
        cells = line.split("|", len(_FIELDS) - 1)
        if len(cells) != len(_FIELDS) or not cells[0].isdigit():
            continue
        cell = dict(zip(_FIELDS, cells, strict=True))
        nodes = cell["NodeList"]
        yield Record(
            job_id=cell["JobIDRaw"],
            name=cell["JobName"],
            comment=cell["Comment"],
            # Such as "CANCELLED by 0".
            state=cell["State"].partition(" ")[0],
            user_id=int(cell["UID"] or -1),
            wait_status=wait_status(cell["ExitCode"]),
            partition=cell["Partition"] or None,
            qos=cell["QOS"] or None,
            nodes="" if nodes == "None assigned" else nodes,
            submitted=_time(cell["Submit"]),
            started=_time(cell["Start"]),
            ended=_time(cell["End"]),
        )


def newest(rows: Iterator[Record]) -> list[Record]:
    """Of each job the row that stands for it now: the last one, which was begun after the others."""
    jobs: dict[str, Record] = {}
    begun: dict[str, int] = {}
    told = list(rows)
    known = {row.job_id for row in told if row.state != REVOKED}
    for row in told:
        if row.state == REVOKED and row.job_id in known:
            continue
        begun[row.job_id] = begun.get(row.job_id, -1) + 1
        jobs[row.job_id] = row
    return [replace(row, restarts=begun[number]) for number, row in jobs.items()]


def _time(told: str) -> datetime | None:
    return datetime.fromtimestamp(int(told), UTC) if told.isdigit() else None
