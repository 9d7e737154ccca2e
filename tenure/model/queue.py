"""Queue policy: what a queue serves, to whom, and how it retries (S1 section 2.1). Never membership."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints

from tenure.model.states import State

Key = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:/@+-]*$")]
#: A plain job, and what stands for a step of a run: the templates that a queue serves where nothing else is said.
JOB_TEMPLATE, STEP_TEMPLATE = "task/job/1.0", "flow/step/1.0"
Tag = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class BackoffMode(StrEnum):
    """How the delay grows with each attempt."""

    CONSTANT = "CONSTANT"
    LINEAR = "LINEAR"
    EXPONENTIAL_BACKOFF = "EXPONENTIAL_BACKOFF"


class RetryPolicy(BaseModel):
    """Delays in seconds; ``jitter`` is the share of the delay (0 to 1) that is drawn from a hash."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: BackoffMode = BackoffMode.EXPONENTIAL_BACKOFF
    initial_delay_seconds: float = Field(default=60, ge=0, le=86400 * 365, strict=True)
    backoff_factor: float = Field(default=2.0, ge=1, le=100, strict=True)
    max_delay_seconds: float = Field(default=3600, ge=0, le=86400 * 365, strict=True)
    jitter: float = Field(default=0, ge=0, le=1, strict=True)


class QueuePolicy(BaseModel):
    """What may be said when a queue is defined (S1 section 2.1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    queue_key: Key
    display_name: str = ""
    enabled: bool = True
    manual_only: bool = False
    operator_visible: bool = True
    dispatch_priority: int = Field(default=100, ge=-(2**31), lt=2**31)
    subject_template_codes: tuple[Key, ...] = Field((JOB_TEMPLATE, STEP_TEMPLATE), min_length=1)
    eligible_states: tuple[Literal[State.READY, State.FAILED_RETRYABLE], ...] = (State.READY, State.FAILED_RETRYABLE)
    required_worker_capabilities: tuple[Tag, ...] = ()
    site_scope: tuple[Tag, ...] = ()
    platform_scope: tuple[Tag, ...] = ()
    assay_scope: tuple[Tag, ...] = ()
    lease_ttl_seconds: int = Field(default=900, ge=1, le=86400 * 365)
    max_attempts_default: int = Field(default=5, ge=1, le=32000)
    retry_policy: RetryPolicy = RetryPolicy()
    diagnostics_enabled: bool = True
    disabled_reason: str | None = None


#: What ``update_queue_policy`` may change; key and templates are immutable (S1 section 2.1).
MUTABLE = frozenset(QueuePolicy.model_fields) - {"queue_key", "subject_template_codes"}


class Queue(QueuePolicy):
    """A queue as it stands: its policy, identity and revision."""

    uid: int
    tenant: int
    revision: int = 1
    seq: int = 0
    created_at: AwareDatetime | None = None
    retired_at: AwareDatetime | None = None

    def policy(self) -> dict[str, Any]:
        """The policy part alone, as JSON-ready data."""
        return self.model_dump(mode="json", include=set(QueuePolicy.model_fields))
