"""Queues in answers: their policy as it stands, and S1's sixteen numbers."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from tenure.api.schemas.fields import QueueName, Revision, Seq, TenantName
from tenure.model.queue import BackoffMode
from tenure.model.states import State

_POLICY_EXAMPLE: dict[str, Any] = {
    "euid": "QX-YGJ24", "tenant": "TX-16JH", "queue_key": "extraction", "display_name": "Extraction", "enabled": True,
    "manual_only": False, "operator_visible": True, "dispatch_priority": 100,
    "subject_template_codes": ["content/material/specimen/1.0"], "eligible_states": ["READY", "FAILED_RETRYABLE"],
    "required_worker_capabilities": ["wetlab.extraction"], "site_scope": [], "platform_scope": [], "assay_scope": [],
    "lease_ttl_seconds": 900, "max_attempts_default": 5,
    "retry_policy": {"mode": "EXPONENTIAL_BACKOFF", "initial_delay_seconds": 60, "backoff_factor": 2.0,
                     "max_delay_seconds": 3600, "jitter": 0},
    "diagnostics_enabled": True, "disabled_reason": None, "revision": 1, "seq": 1,
    "created_at": "2026-03-01T12:00:00.000000+00:00", "retired_at": None,
}  # fmt: skip

_Count = Annotated[int, Field(ge=0)]


class RetryPolicyShown(BaseModel):
    """How long a failed subject waits; delays in seconds."""

    mode: BackoffMode
    initial_delay_seconds: float
    backoff_factor: float
    max_delay_seconds: float
    jitter: float


class QueueShown(BaseModel):
    """A queue: its policy, identity and revision (S1 section 2.1)."""

    model_config = ConfigDict(json_schema_extra={"examples": [_POLICY_EXAMPLE]})

    euid: QueueName
    tenant: TenantName
    queue_key: str = Field(examples=["extraction"])
    display_name: str
    enabled: bool
    manual_only: bool = Field(description="Only people may claim from it.")
    operator_visible: bool
    dispatch_priority: int = Field(description="Workers serve queues with a higher one first.")
    subject_template_codes: list[str] = Field(description="What it serves; never changes.")
    eligible_states: list[State]
    required_worker_capabilities: list[str]
    site_scope: list[str]
    platform_scope: list[str]
    assay_scope: list[str]
    lease_ttl_seconds: int = Field(description="How long a lease lasts without renewal, in seconds.")
    max_attempts_default: int
    retry_policy: RetryPolicyShown
    diagnostics_enabled: bool
    disabled_reason: str | None
    revision: Revision
    seq: Seq
    created_at: datetime | None
    retired_at: datetime | None


class QueueMetrics(BaseModel):
    """The sixteen metrics of one queue, exact, read in one snapshot (S1 section 9.1). Ages and lags in seconds."""

    queue_key: str = Field(examples=["extraction"])
    queue_depth: _Count = Field(description="Subjects visible in the queue.", examples=[12])
    oldest_job_age_seconds: float | None = Field(examples=[340.5])
    newest_job_age_seconds: float | None = Field(examples=[2.1])
    active_leases: _Count
    expired_leases_total: _Count
    retryable_failures_total: _Count
    terminal_failures_total: _Count
    throughput_success_per_minute: float
    throughput_failure_per_minute: float
    failure_rate: float = Field(description="Failures among what ended within the window, 0 to 1.")
    dead_letter_count: _Count
    held_count: _Count
    worker_online_count: _Count
    worker_heartbeat_lag_seconds: float | None
    claim_conflict_total: _Count
    idempotent_replay_total: _Count


class QueueSummary(BaseModel):
    """A queue as the list shows it: who may work on it, and its numbers."""

    euid: QueueName
    queue_key: str = Field(examples=["extraction"])
    display_name: str
    enabled: bool
    manual_only: bool
    operator_visible: bool
    dispatch_priority: int
    disabled_reason: str | None
    metrics: QueueMetrics


class QueueSampleShown(BaseModel):
    """The numbers of a queue as they were at a time."""

    at: datetime
    window_seconds: float = Field(description="Over how many seconds before it rates were taken.")
    counts: QueueMetrics


class QueueSamples(BaseModel):
    """How a queue went: samples in order of time."""

    samples: list[QueueSampleShown]


class QueueDetail(BaseModel):
    """A queue's configuration and summary (S1 section 9.2)."""

    queue: QueueShown
    metrics: QueueMetrics
