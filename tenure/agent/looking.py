"""What ``tenure agent status`` shows: read from the state folder, beside a running agent."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tenure.agent.execution import Execution, Stage
from tenure.agent.lock import holder_of
from tenure.agent.requests import DRAIN, DRAIN_TOLD
from tenure.agent.standing import DISK, DRAINING, IN_THE_WAY, RUNG, SCHEDULER, SERVER, STATE
from tenure.agent.store.store import Store
from tenure.agent.telling import FIELDS

_MAY_PASS = (Stage.RECEIVED, Stage.PREPARED, Stage.SUBMITTING)
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Parked:
    """An event that the server refused for good, with the fields of its log line."""

    event: dict[str, str | None]
    said: str | None
    made_at: datetime


@dataclass(frozen=True, slots=True)
class Standing:
    """How an agent stands."""

    folder: str
    process: int | None
    """The agent's process; None where it does not run."""
    scheduler: str | None
    last_contact: datetime | None
    last_ring: datetime | None
    """When the site's Prolog or Epilog rang last, to ten seconds."""
    draining: bool
    problems: dict[str, str]
    executions: dict[str, int]
    """How many are in each stage."""
    events: dict[str, int]
    """How many are waiting, delivered, parked."""
    troubled: list[dict[str, str | None]] = field(default_factory=list)
    """Open executions that somebody should look at."""
    parked: list[Parked] = field(default_factory=list)

    @property
    def in_the_way(self) -> str | None:
        """Why it takes no work; None where it does."""
        if self.process is None:
            return "it does not run"
        if self.draining:
            return "it drains"
        return "see problems" if IN_THE_WAY & self.problems.keys() else None


def look(folder: Path) -> Standing:
    """How the agent of a state folder stands. Raises StateFolderUnusable, StateTooNew."""
    store = Store.reading(folder)
    try:
        conditions = store.conditions()
        contact, ring = conditions.get("last_contact"), conditions.get(RUNG)
        process = holder_of(folder)
        names = (SCHEDULER, SERVER, DISK, STATE)
        return Standing(
            folder=str(folder), process=process, scheduler=conditions.get("scheduler", (None, 0.0))[0],
            last_contact=_time(contact[1]) if contact else None, last_ring=_time(ring[1]) if ring else None,
            draining=DRAINING in conditions,
            problems={name: conditions[name][0] for name in names if name in conditions and process is not None},
            executions=store.counts(), events=store.count_events(),
            troubled=[_troubled(each) for each in store.open_executions() if _needs_somebody(each)],
            parked=[Parked(_fields(event.body), event.said, _time(event.made_at)) for event in store.parked()],
        )  # fmt: skip
    finally:
        store.close()


@dataclass(frozen=True, slots=True)
class Draining:
    """How far an agent has come that is to drain."""

    asked: bool
    """Whether it still is to."""
    heard: bool
    """Whether nothing new can come: the agent knows, and the server has answered a poll that said so; or no agent runs."""
    running: bool
    left: int
    """Executions that are not over, and events that wait."""


def draining(folder: Path) -> Draining:
    """How far it has come. Raises StateFolderUnusable, StateTooNew."""
    running = holder_of(folder) is not None
    store = Store.reading(folder)
    try:
        waits = any(request.kind == DRAIN for request in store.requests())
        conditions = store.conditions()
        since, told = (conditions.get(name, (None, float("-inf")))[1] for name in (DRAINING, DRAIN_TOLD))
        heard = not running or (not waits and DRAINING in conditions and told >= since)
        # Only now: what the poll before that brought is counted.
        left = sum(count for stage, count in store.counts().items() if stage != Stage.ENDED)
        return Draining(
            asked=waits or DRAINING in conditions, heard=heard, running=running,
            left=left + store.count_events().get("waiting", 0),
        )  # fmt: skip
    finally:
        store.close()


def _needs_somebody(execution: Execution) -> bool:
    """What is only being tried again passes by itself, as a rule."""
    return execution.problem is not None and (execution.stage not in _MAY_PASS or execution.attempts >= _TRIES)


def _troubled(execution: Execution) -> dict[str, str | None]:
    work = execution.work
    return {
        "execution_id": work.execution_id, "submission_id": work.submission_id, "job_id": work.job_id,
        "stage": str(execution.stage), "scheduler_job_id": execution.job_id, "problem": execution.problem,
    }  # fmt: skip


def _fields(body: str) -> dict[str, str | None]:
    event = json.loads(body)
    return {name: event.get(name) for name in FIELDS}


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
