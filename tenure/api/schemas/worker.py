"""Workers in answers."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tenure.api.schemas.fields import PrincipalName, Revision, Seq, TenantName, WorkerName
from tenure.model.states import WorkerStatus, WorkerType
from tenure.model.worker import Worker
from tenure.sdk.public_form import public

_EXAMPLE: dict[str, Any] = {
    "euid": "WX-YGJ24", "tenant": "TX-16JH", "worker_key": "worker://lab/extractor-1", "display_name": "Extractor 1",
    "worker_type": "SERVICE", "status": "ONLINE", "effective_status": "ONLINE", "capabilities": ["wetlab.extraction"],
    "site_scope": ["sfo"], "platform_scope": [], "assay_scope": [], "max_concurrent_leases": 1,
    "heartbeat_at": "2026-03-01T12:00:00.000000+00:00", "heartbeat_ttl_seconds": 60, "build_version": "1.4.2",
    "host": "lab-7", "process_identity": "4711", "queues": ["extraction"], "tasks": ["extract"], "workflows": ["order@2"],
    "owner": "UX-YGJ24", "incarnation": 1,
    "drain_requested": False, "disabled_reason": None,
    "last_error_at": None, "last_error_class": None, "revision": 1, "seq": 1,
    "created_at": "2026-03-01T12:00:00.000000+00:00",
}  # fmt: skip


class WorkerShown(BaseModel):
    """A worker: service, human session or instrument adapter (S1 section 2.3)."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    euid: WorkerName
    tenant: TenantName
    worker_key: str
    display_name: str
    worker_type: WorkerType
    status: WorkerStatus = Field(description="As it was set.")
    effective_status: WorkerStatus = Field(description="With OFFLINE, where its last heartbeat is too long ago.")
    capabilities: list[str]
    site_scope: list[str]
    platform_scope: list[str]
    assay_scope: list[str]
    max_concurrent_leases: int
    heartbeat_at: datetime
    heartbeat_ttl_seconds: int
    build_version: str
    host: str
    process_identity: str
    queues: list[str] = Field(description="The queues that it serves; none where it does not say: any.")
    tasks: list[str] = Field(description="The tasks that its code has; none where it does not say.")
    workflows: list[str] = Field(description="The versions of workflows that its code defines.", examples=[["order@2"]])
    owner: PrincipalName | None = Field(
        description="The principal that registered it over HTTP: only that one acts as it."
    )
    incarnation: int = Field(description="Counts its registrations; only the newest may claim, beat and renew.")
    drain_requested: bool
    disabled_reason: str | None
    last_error_at: datetime | None
    last_error_class: str | None
    revision: Revision
    seq: Seq
    created_at: datetime | None


def shown(worker: Worker, now: datetime) -> dict[str, Any]:
    """A worker as answers show it, at a moment."""
    return {**public(worker), "effective_status": str(worker.effective_status(now))}
