"""When schedules fall due: cron lines in their time zones, and what is done about windows that were missed (design 02, API)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from tenure.flow.model.names import WorkflowName
from tenure.model.queue import Key

Missed = Literal["skip", "once", "catch_up"]
#: No more due times than these are looked at in one go; what is left waits for the next tick.
MOST = 1000


class ScheduleSpec(BaseModel):
    """A schedule: ``cron`` or ``at``, and what it starts: a run of ``workflow``, or a subject in ``queue_key``.

    A due time that is more than ``grace_seconds`` old when somebody looks was missed: ``skip`` lets it be, ``once`` makes
    good the last one that was missed, ``catch_up`` all of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:/@+-]*$", max_length=200)]
    cron: Annotated[str, StringConstraints(max_length=200)] | None = None
    at: AwareDatetime | None = None
    timezone: Annotated[str, StringConstraints(max_length=64)] = "UTC"
    missed: Missed = "once"
    grace_seconds: int = Field(300, ge=1, le=86400 * 366)
    workflow: WorkflowName | None = None
    queue_key: Key | None = None
    action: Key | None = None
    input: Any = None

    @model_validator(mode="after")
    def _whole(self) -> ScheduleSpec:
        if (self.cron is None) == (self.at is None):
            raise ValueError("a schedule has either cron or at")
        if (self.workflow is None) == (self.queue_key is None):
            raise ValueError("a schedule starts runs of a workflow, or puts subjects before a queue")
        if self.workflow is not None and self.action is not None:
            raise ValueError("an action is for subjects; the steps of a workflow name their own")
        if self.queue_key is not None and not isinstance(self.input, dict | None):
            raise ValueError("the input of a subject is an object")
        zone(self.timezone)
        if self.cron is not None:
            next(_times(self.cron, self.timezone, datetime(2000, 1, 1, tzinfo=UTC)), None)
        return self

    def next_after(self, moment: datetime) -> datetime | None:
        """The first due time after a moment, in UTC; None where there is none."""
        if self.at is not None:
            return self.at.astimezone(UTC) if self.at > moment else None
        assert self.cron is not None
        return next(_times(self.cron, self.timezone, moment), None)


def zone(name: str) -> ZoneInfo:
    """A time zone by its IANA name; ``ValueError`` where there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"there is no time zone {name!r}") from error


def _times(cron: str, timezone: str, after: datetime) -> Iterator[datetime]:
    try:
        times = CronSim(cron, after.astimezone(zone(timezone)))
    except CronSimError as error:
        raise ValueError(f"{cron!r} is no cron line: {str(error).lower()}") from None
    for time in times:
        yield time.astimezone(UTC)


@dataclass(frozen=True, slots=True)
class Firing:
    """What is done at a tick: the due times to be started, how many were let be, and when to look again."""

    due: tuple[datetime, ...]
    skipped: int
    next_at: datetime | None


def firing(spec: ScheduleSpec, next_at: datetime, now: datetime) -> Firing:
    """Decide about everything that has fallen due since ``next_at``, which is the first."""
    passed: list[datetime] = []
    following: datetime | None = next_at
    while following is not None and following <= now and len(passed) < MOST:
        passed.append(following)
        following = spec.next_after(following)
    oldest = now - timedelta(seconds=spec.grace_seconds)
    missed = [at for at in passed if at < oldest]
    in_time = [at for at in passed if at >= oldest]
    if spec.missed == "catch_up":
        due = passed
    elif spec.missed == "once" and missed and not in_time and (following is None or following > now):
        due = missed[-1:]
    else:
        due = in_time
    return Firing(tuple(due), len(passed) - len(due), following)
