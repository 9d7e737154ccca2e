"""What is asked of queues, templates and workers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tenure.api.schemas.fields import WorkerEuid
from tenure.api.schemas.guards import KeyedBody
from tenure.model.queue import Key, QueuePolicy, RetryPolicy, Tag
from tenure.model.requests import ShortText, Text
from tenure.model.states import State, WorkerType

_Label = Annotated[str, Field(max_length=500, pattern=r"^[^\x00]*$")]
_Tags = Annotated[list[Tag], Field(max_length=500)]


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


class DefineQueueBody(KeyedBody):
    """Define a queue; the same definition again changes nothing (S1 section 2.1)."""

    model_config = _example(
        policy={"queue_key": "extraction", "subject_template_codes": ["content/material/specimen/1.0"],
                "required_worker_capabilities": ["wetlab.extraction"]},
    )  # fmt: skip

    policy: QueuePolicy = Field(description="What it serves, to whom, and how it retries.")


def _undefaulted(schema: dict[str, Any]) -> None:
    # What is left out stays as it is, so a default would be a lie.
    for described in schema["properties"].values():
        described.pop("default", None)


class QueueChanges(BaseModel):
    """The fields of a queue's policy that change; what is left out stays as it is."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_undefaulted)

    display_name: str = ""
    enabled: bool = True
    manual_only: bool = False
    operator_visible: bool = True
    dispatch_priority: int = Field(0, ge=-(2**31), lt=2**31)
    eligible_states: tuple[Literal[State.READY, State.FAILED_RETRYABLE], ...] = ()
    required_worker_capabilities: tuple[Tag, ...] = ()
    site_scope: tuple[Tag, ...] = ()
    platform_scope: tuple[Tag, ...] = ()
    assay_scope: tuple[Tag, ...] = ()
    lease_ttl_seconds: int = Field(900, ge=1, le=86400 * 365)
    max_attempts_default: int = Field(5, ge=1, le=32000)
    retry_policy: RetryPolicy = RetryPolicy()
    diagnostics_enabled: bool = True
    disabled_reason: str | None = None


class UpdateQueueBody(KeyedBody):
    """Change a queue's policy; key and templates never change."""

    model_config = _example(queue_key="extraction", changes={"lease_ttl_seconds": 600}, expected_revision=1)

    queue_key: Key
    changes: QueueChanges = Field(description="The fields of the policy that change.")
    expected_revision: int | None = Field(None, ge=1, lt=2**31, description="The revision that it must have.")


class RetireQueueBody(KeyedBody):
    """Retire a queue; its key is free for a replacement."""

    model_config = _example(queue_key="extraction", reason="replaced by extraction_v2")

    queue_key: Key
    reason: Text


class DefineTemplateBody(KeyedBody):
    """Define a kind of subject."""

    model_config = _example(
        code="content/material/specimen/1.0",
        properties_schema={"type": "object", "properties": {"volume_ul": {"type": "number"}}},
    )

    code: Key
    properties_schema: dict[str, Any] = Field(
        default_factory=dict, description="The JSON Schema (2020-12) that the properties must match."
    )


class RegisterWorkerBody(KeyedBody):
    """Register a worker, or take its key over: only the newest registration may claim, beat and renew."""

    model_config = _example(
        worker_key="worker://lab/extractor-1", display_name="Extractor 1", worker_type="SERVICE",
        capabilities=["wetlab.extraction"], site_scope=["sfo"], max_concurrent_leases=1, build_version="1.4.2",
    )  # fmt: skip

    worker_key: Key
    display_name: _Label = ""
    worker_type: WorkerType = WorkerType.SERVICE
    capabilities: _Tags = Field(default_factory=list)
    site_scope: _Tags = Field(default_factory=list)
    platform_scope: _Tags = Field(default_factory=list)
    assay_scope: _Tags = Field(default_factory=list)
    max_concurrent_leases: int = Field(1, ge=1, le=1_000_000)
    heartbeat_ttl_seconds: int = Field(60, ge=1, le=86400)
    build_version: _Label = ""
    host: _Label = ""
    process_identity: _Label = ""
    queues: list[Key] = Field(
        [],
        max_length=1000,
        description="The queues that it serves: `why` and the metrics count it for these alone. None: it does not say, and is "
        "counted for any. It may claim elsewhere, too.",
    )
    tasks: list[Key] = Field([], max_length=1000, description="The tasks that its code has; none: it does not say.")
    workflows: list[Tag] = Field(
        [], max_length=1000, description="The versions of workflows that its code defines.", examples=[["order@2"]]
    )


class HeartbeatBody(KeyedBody):
    """Say that the worker is alive. It changes nothing but a time, so the key is not needed."""

    model_config = _example(worker_euid="WX-YGJ24", incarnation=1)

    worker_euid: WorkerEuid
    incarnation: int = Field(ge=1, lt=2**31, description="What registering answered.")
    error_class: ShortText | None = Field(None, description="The class of its latest error, for those who look at it.")


class WorkerStatusBody(KeyedBody):
    """Change whether a worker works."""

    model_config = _example(worker_euid="WX-YGJ24", reason="maintenance")

    worker_euid: WorkerEuid
    reason: Text | None = None
