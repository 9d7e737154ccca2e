"""Workflows, runs and schedules in answers (design 02, API)."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tenure.api.schemas.fields import (
    RecordName,
    RunName,
    ScheduleName,
    Seq,
    SubjectName,
    TenantName,
    WorkflowEuidName,
)
from tenure.api.schemas.subject import Reason

Performer = Literal["task", "human", "external", "approval", "pause", "wait", "child", "map", "log"]
_AT = "2026-03-01T12:00:00.000000+00:00"


class RunShown(BaseModel):
    """A run as lists show it."""

    euid: RunName
    tenant: TenantName
    workflow: WorkflowEuidName
    name: str = Field(description="The name of its workflow.", examples=["order"])
    status: str = Field(description="RUNNING, PAUSED, or how it ended.", examples=["RUNNING"])
    run_key: str | None = Field(examples=["order-4711"])
    input: Any = Field(examples=[{"order": 4711}])
    input_hash: str
    started_at: datetime
    root: SubjectName | None = Field(description="The subject that it is about.")
    parent_run: RunName | None
    parent_runnable: str | None
    correlation_id: str | None
    trace_id: str | None
    boundary: dict[str, Any] | None = Field(description="The manual boundary at which it stands.")
    wake_at: datetime | None = Field(description="When something of it falls due.")
    output: Any
    ended_at: datetime | None
    seq: Seq


class RunResult(BaseModel):
    """A run after what was asked of it."""

    run: RunName
    workflow: str = Field(examples=["order"])
    version: int
    status: str = Field(examples=["RUNNING"])
    seq: Seq
    started_at: datetime
    run_key: str | None
    boundary: dict[str, Any] | None
    ended_at: datetime | None
    replayed: bool = Field(description="It had been done before; nothing was changed now.")


class StepSubject(BaseModel):
    """A subject that stands for a runnable of a step."""

    runnable: str
    subject: SubjectName
    state: str | None
    record: RecordName | None
    attempt_count: int
    error_class: str | None
    error_code: str | None


class StepShown(BaseModel):
    """A step of a run as it stands, this time round."""

    step: str
    performer: Performer
    iteration: int
    phase: str
    planned_at: datetime | None
    ended_at: datetime | None
    deadline: datetime | None
    until: datetime | None
    signal: str | None
    items: dict[str, int] | None = Field(description="Of a map: how many there are, and how they went.")
    error: dict[str, Any] | None
    routes: list[int] = Field(description="The routes that were taken, by their place in the definition.")
    subjects: list[StepSubject]
    children: list[RunName]


class RunSnapshot(BaseModel):
    """A run as it stands: its steps, boundaries and children, and what of its facts does not fit."""

    run: RunShown
    version: int
    steps: list[StepShown]
    active: list[str]
    manual: dict[str, Any] | None
    resolved: dict[str, Any] | None
    stop: dict[str, Any] | None
    end: dict[str, Any] | None
    paused: bool
    signals: list[str] = Field(description="Signals that no step has taken yet.")
    children: list[RunShown]
    parent: dict[str, Any] | None
    replay_of: RunName | None
    retry_of: RunName | None
    anomalies: list[dict[str, Any]]


class RunReasons(BaseModel):
    """Why a run waits or stands."""

    run: RunName
    reasons: list[Reason]


class Moment(BaseModel):
    """One fact of a run, in a sentence."""

    seq: Seq
    at: datetime
    type: str = Field(examples=["run.started"])
    actor: str
    sentence: str = Field(examples=["Started order version 1 under the key order-4711."])
    step: str | None
    data: dict[str, Any]


class Graph(BaseModel):
    """Steps as nodes, what leads from one to the next as edges; with states where it is a run's."""

    model_config = ConfigDict(json_schema_extra={"examples": [{
        "workflow": "order", "version": 1, "status": "RUNNING",
        "nodes": [{"id": "reserve", "performer": "task", "state": "active", "iteration": 1, "queue": "shop",
                   "description": None, "compensates": None, "planned_at": _AT, "ended_at": None, "error": None}],
        "edges": [],
    }]})  # fmt: skip

    workflow: str
    version: int
    status: str | None
    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]


class RunAsOf(BaseModel):
    """The fold of a run's facts up to a moment."""

    model_config = ConfigDict(extra="allow")

    run: RunName
    seq: Seq
    workflow: str
    version: int
    steps: dict[str, Any]
    anomaly_count: int


class WorkflowShown(BaseModel):
    """One version of a workflow."""

    euid: WorkflowEuidName
    tenant: TenantName
    name: str = Field(examples=["order"])
    version: int
    definition: dict[str, Any]
    fingerprint: str
    created_at: datetime
    retired_at: datetime | None
    seq: Seq


class ScheduleShown(BaseModel):
    """A schedule, and when it falls due next."""

    euid: ScheduleName
    tenant: TenantName
    name: str = Field(examples=["nightly"])
    spec: dict[str, Any]
    enabled: bool
    next_at: datetime | None
    created_at: datetime
    last_at: datetime | None
    retired_at: datetime | None
    seq: Seq
