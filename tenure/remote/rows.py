"""The rows beside the facts: nodes, submissions and executions as they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from tenure.remote.model.execution import Execution
from tenure.remote.model.fields import ExecutionState, ProjectionState
from tenure.remote.model.node import NodeSpec
from tenure.remote.model.projection import Projection
from tenure.store.records import RefusalRow


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One management node: what was defined, with ``seq`` and ``head`` of its thread, and what its last poll said."""

    uid: int
    tenant: int
    name: str
    spec: Mapping[str, Any]
    worker: int
    """The uid of the kernel's worker that the node is."""
    principal: int
    """The uid of the principal that may poll and report for it."""
    created_at: datetime
    seq: int = 0
    head: bytes = b""
    agent_id: str | None = None
    former_agents: tuple[str, ...] = ()
    incarnation: int = 0
    polled_at: datetime | None = None
    draining: bool = False
    holding: int = 0
    scheduler: str | None = None
    scheduler_problem: str | None = None
    problem_since: datetime | None = None
    folder_id: str | None = None
    """The state folder of its agent."""
    served_until: datetime | None = None
    """Until then an agent of another folder does not take its place."""
    job_problem: str | None = None
    """What somebody must look at with one of its jobs; other work goes on."""

    def parsed(self) -> NodeSpec:
        """Its definition."""
        return NodeSpec.model_validate(dict(self.spec))

    def silent(self, now: datetime) -> bool:
        """Whether it has not polled for longer than it may."""
        allowed = timedelta(seconds=int(self.spec["silent_after_seconds"]))
        return self.polled_at is None or self.polled_at + allowed <= now


@dataclass(frozen=True, slots=True)
class SubmissionRow:
    """One submission: the command, where it was placed, and its projection. Owner of the submission's thread."""

    uid: int
    tenant: int
    subject: int
    node: int
    node_name: str
    workspace_id: str
    job_id: str
    idempotency_key: str
    command: Mapping[str, Any]
    command_hash: bytes
    placement: Mapping[str, Any]
    trace_id: str
    accepted_at: datetime
    projection_state: ProjectionState
    projection_round: int
    source_execution_state: ExecutionState | None
    projected_at: datetime
    display_message: str | None = None
    result_ref: Mapping[str, Any] | None = None
    failure: Mapping[str, Any] | None = None
    seq: int = 0
    head: bytes = b""

    @property
    def projection(self) -> Projection:
        """What the product knows."""
        return Projection(self.projection_state, self.projection_round, self.source_execution_state)


@dataclass(frozen=True, slots=True)
class ExecutionRow:
    """One execution as it is kept: the execution, whose it is, and when what happened."""

    submission: int
    tenant: int
    node: int
    execution: Execution
    handed_out_at: datetime
    accepted_at: datetime | None = None
    running_at: datetime | None = None
    ended_at: datetime | None = None
    status_detail: str | None = None
    open: bool = True
    """Whether the node may still hold it."""


@dataclass(frozen=True, slots=True)
class RefusalOf:
    """What was refused about a submission, and changed nothing. The uid is that of the refusal: the higher, the newer."""

    uid: int
    row: RefusalRow


@dataclass(frozen=True, slots=True)
class SubmissionFilter:
    """Which submissions: all that is given must fit."""

    workspace_id: str | None = None
    job_id: str | None = None
    node: int | None = None
    projection_state: ProjectionState | None = None

    @property
    def sifts(self) -> bool:
        """Whether what an index gives has to be looked through for what fits."""
        return (self.workspace_id, self.projection_state) != (None, None) or None not in (self.job_id, self.node)


@dataclass(frozen=True, slots=True)
class SubmissionPage:
    """Submissions, the newest first. Go on below ``next_before`` until that is None.

    A page may be short, even empty, and not the last: only so many submissions are looked at for one.
    """

    submissions: Sequence[SubmissionRow]
    next_before: int | None
