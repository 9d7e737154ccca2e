"""Workers: service, human session or instrument adapter, a persistent identity (S1 section 2.3)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from tenure.model.queue import Key, Tag
from tenure.model.states import WorkerStatus, WorkerType

#: What only a worker has that stands for a management node: others do not take what is submitted to one (S5).
NODE_CAPABILITY = "management-node:"


class WorkerSpec(BaseModel):
    """What a worker says of itself when it registers (S1 section 5.2)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    worker_key: Key
    display_name: str = ""
    worker_type: WorkerType = WorkerType.SERVICE
    capabilities: tuple[Tag, ...] = ()
    site_scope: tuple[Tag, ...] = ()
    platform_scope: tuple[Tag, ...] = ()
    assay_scope: tuple[Tag, ...] = ()
    max_concurrent_leases: int = Field(1, ge=1, le=1_000_000)
    heartbeat_ttl_seconds: int = Field(60, ge=1, le=86400)
    build_version: str = ""
    host: str = ""
    process_identity: str = ""
    #: The queues that it serves, the tasks that its code has, and the workflows that it defines (``order@2``); nothing where it
    #: does not say. It is not kept from claiming elsewhere, but nobody counts on it there.
    queues: tuple[Key, ...] = ()
    tasks: tuple[Key, ...] = ()
    workflows: tuple[Tag, ...] = ()

    def spec(self) -> dict[str, Any]:
        """What it says of itself, as JSON-ready data."""
        told = self.model_dump(mode="json", include=set(WorkerSpec.model_fields))
        return {name: value for name, value in told.items() if value or name not in ("queues", "tasks", "workflows")}


#: So many characters of names of one kind, and of all kinds, fit into the fact that tells of a worker.
MAX_TOLD, MAX_TOLD_IN_ALL = 4000, 8000


def told(*kinds: Iterable[str]) -> list[tuple[str, ...]]:
    """Names as a worker says them of itself, of each kind sorted; of a kind with too many to be told after the others none."""
    said: list[tuple[str, ...]] = []
    left = MAX_TOLD_IN_ALL
    for names in kinds:
        each = tuple(sorted(set(names)))
        length = sum(len(name) + 4 for name in each)
        if length > min(left, MAX_TOLD):
            each, length = (), 0
        said.append(each)
        left -= length
    return said


class Worker(WorkerSpec):
    """A worker as it stands. ``incarnation`` counts registrations: only the newest may claim, beat and renew.

    ``owner`` is the principal that registered it first through the API; None where a trusted process did.
    """

    uid: int
    tenant: int
    status: WorkerStatus = WorkerStatus.ONLINE
    owner: int | None = None
    incarnation: int = 1
    drain_requested: bool = False
    disabled_reason: str | None = None
    heartbeat_at: AwareDatetime
    last_error_at: AwareDatetime | None = None
    last_error_class: str | None = None
    revision: int = 1
    seq: int = 0
    created_at: AwareDatetime | None = None

    def serves(self, queue_key: str) -> bool:
        """False where it says which queues it serves, and this is none of them."""
        return not self.queues or queue_key in self.queues

    def can(self, task: str | None) -> bool:
        """False where it says which tasks it has, and this is none of them."""
        return task is None or not self.tasks or task in self.tasks

    def effective_status(self, now: datetime) -> WorkerStatus:
        """The status with OFFLINE computed from a stale heartbeat (S1 section 2.3)."""
        alive = self.heartbeat_at + timedelta(seconds=self.heartbeat_ttl_seconds) > now
        if self.status is WorkerStatus.ONLINE and not alive:
            return WorkerStatus.OFFLINE
        return self.status
