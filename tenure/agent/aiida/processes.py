"""The processes of AiiDA that executions are, read with one question to its database."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Process:
    """One CalcJob as AiiDA's database has it."""

    uuid: str
    pk: int
    key: str
    """The execution's id: the label of the process."""
    state: str | None
    """``created``, ``waiting``, ``running``, ``finished``, ``excepted`` or ``killed``; None where it has just been stored, and
    for ever where whoever stored it died then.
    """
    step: str | None
    """What a CalcJob that goes on is at: ``uploading``, ``submitting``, ``withscheduler``, ..."""
    says: str | None
    """AiiDA's own words on what it waits for."""
    paused: bool
    job_id: str | None
    """The job's number with the scheduler below AiiDA."""
    scheduler_state: str | None
    exit_status: int | None
    exit_message: str | None
    exception: str | None
    details: Any
    """What the scheduler told when the job had ended (``detailed_job_info``)."""
    sent: bool
    """Whether its task was handed to the daemon, as far as we know."""

    @property
    def begun(self) -> bool:
        """Whether a worker has taken it up."""
        return self.state not in (None, "created")

    @property
    def ended(self) -> bool:
        """Whether AiiDA does nothing more with it."""
        return self.state in ("finished", "excepted", "killed")


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PROJECTION = [
    "uuid", "id", "label", "attributes.process_state", "attributes.state", "attributes.process_status", "attributes.paused",
    "attributes.job_id", "attributes.scheduler_state", "attributes.exit_status", "attributes.exit_message",
    "attributes.exception", "attributes.detailed_job_info", "extras.tenure_sent",
]  # fmt: skip


def by_uuid(uuids: Collection[str]) -> list[Process]:
    """The processes with these ids."""
    known = [uuid for uuid in uuids if _UUID.fullmatch(uuid)]
    return _query({"uuid": {"in": known}}) if known else []


def by_key(keys: Collection[str]) -> list[Process]:
    """The processes of these executions."""
    return _query({"label": {"in": list(keys)}}) if keys else []


def _query(filters: dict[str, Any]) -> list[Process]:
    from aiida import orm  # noqa: PLC0415
    from aiida.manage import get_manager  # noqa: PLC0415

    storage: Any = get_manager().get_profile_storage()
    # What another process has written since the last question is only seen by a transaction that begins now.
    storage.get_session().rollback()
    builder = orm.QueryBuilder()
    builder.append(orm.CalcJobNode, filters=filters, project=_PROJECTION)
    builder.order_by({orm.CalcJobNode: "id"})
    rows = builder.all()
    storage.get_session().rollback()
    return [_process(row) for row in rows]


def _process(row: list[Any]) -> Process:
    uuid, pk, key, state, step, says, paused, job_id, scheduler_state, status, message, exception, details, sent = row
    return Process(
        uuid=str(uuid), pk=pk, key=key, state=state, step=step, says=says, paused=bool(paused),
        job_id=None if job_id is None else str(job_id), scheduler_state=scheduler_state, exit_status=status,
        exit_message=message, exception=exception, details=details, sent=bool(sent),
    )  # fmt: skip
