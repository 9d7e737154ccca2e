"""The rows beside the journal: how a run stands, for lists and locks, and which subject stands for which runnable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class RunRow:
    """The envelope of a run, written with its facts. ``seq`` and ``head`` are those of its thread."""

    uid: int
    tenant: int
    workflow: int
    name: str
    """The name of the workflow."""
    status: str
    run_key: str | None
    input: Any
    input_hash: bytes
    started_at: datetime
    root: int | None = None
    """The subject that the run is about."""
    parent_run: int | None = None
    parent_runnable: str | None = None
    correlation_id: str | None = None
    trace_id: str | None = None
    boundary: Mapping[str, Any] | None = None
    """The manual boundary at which the run stands."""
    wake_at: datetime | None = None
    """When something of it falls due: a wait, the deadline of a step or of the run."""
    output: Any = None
    ended_at: datetime | None = None
    seq: int = 0
    head: bytes = b""


@dataclass(frozen=True, slots=True)
class RunnableRow:
    """One planned runnable and the subject that stands for it."""

    subject: int
    tenant: int
    run: int
    runnable_key: str
    step: str
    iteration: int = 1
    retry: Mapping[str, Any] | None = None
    """How its work is tried again, where its queue does not say."""


@dataclass(frozen=True, slots=True)
class ScheduleRow:
    """One schedule; ``spec`` is that of ``tenure.flow.model.schedule``."""

    uid: int
    tenant: int
    name: str
    spec: Mapping[str, Any]
    enabled: bool
    next_at: datetime | None
    created_at: datetime
    last_at: datetime | None = None
    retired_at: datetime | None = None
    seq: int = 0
    head: bytes = b""


@dataclass(frozen=True, slots=True)
class WorkflowRow:
    """One version of a definition."""

    uid: int
    tenant: int
    name: str
    version: int
    definition: Mapping[str, Any]
    fingerprint: bytes
    created_at: datetime
    retired_at: datetime | None = None
    seq: int = 0
    head: bytes = b""
