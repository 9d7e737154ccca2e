"""How a worker works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from tenure.model.queue import Key, Tag
from tenure.model.states import WorkerType


class WorkerOptions(BaseModel):
    """What a worker serves and how much at once. Times in seconds.

    ``queues`` None means every queue that its tasks name. ``concurrency`` bounds handlers at work; ``prefetch`` more are
    held ready under lease. ``queue_limits`` bounds handlers at work for one queue. Without a ``worker_key`` the process
    makes one for itself and retires it when it stops.
    """

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")

    worker_key: Key | None = None
    display_name: str = ""
    worker_type: WorkerType = WorkerType.SERVICE
    queues: Sequence[Key] | None = None
    capabilities: Sequence[Tag] = ()
    site_scope: Sequence[Tag] = ()
    platform_scope: Sequence[Tag] = ()
    assay_scope: Sequence[Tag] = ()
    concurrency: int = Field(default=100, ge=1, le=100_000)
    prefetch: int = Field(default=100, ge=0, le=100_000)
    batch: int = Field(default=100, ge=1, le=10_000)
    processes: int = Field(default=2, ge=1, le=1000)
    queue_limits: Mapping[str, int] = Field(default_factory=dict)
    lease_ttl_seconds: int | None = Field(default=None, ge=1)
    heartbeat_ttl_seconds: int = Field(default=60, ge=1)
    poll_min: float = Field(default=0.02, gt=0)
    poll_max: float = Field(default=1.0, gt=0)
    poll_listening: float = Field(default=5.0, gt=0)
    sweep_interval: float = Field(default=5.0, gt=0)
    grace: float = Field(default=30.0, ge=0)
    build_version: str = ""
    standing_claim: bool = True
    """While it waits, have what is submitted taken for it at once, by the submission (docs/decisions/0023)."""
    listen_dsn: str | None = None
    listen_ping: float = Field(default=5.0, gt=0)
    """How often the listening connection is asked for a sign of life, and how long it may take to give one."""
    drain: bool = False
    """Stop by itself once nothing can be claimed now. What falls due later, by the database's clock, is left for later."""
