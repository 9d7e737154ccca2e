"""Nodes and submissions as they are shown: the answers of the HTTP API, and what clients give."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field

from tenure.model import euid
from tenure.remote.model.fields import ExecutionState, Failure, ProjectionState, ResultRef
from tenure.remote.model.node import NodeSpec

_SOME = 1_000_002

_NODE, _WORKER, _LEASE, _SUBJECT = euid.NODE, euid.WORKER, euid.LEASE, euid.SUBJECT
_SUBMISSION = euid.format_euid(euid.SUBMISSION, _SOME)


def _name(prefix: str, what: str) -> Any:
    return Field(description=f"The EUID of {what}.", examples=[euid.format_euid(prefix, _SOME)])


class NodeShown(BaseModel):
    """A management node, and what its last poll said."""

    euid: Annotated[str, _name(_NODE, "a management node")]
    node: str = Field(description="Its name: `management_node_id` in contracts.", examples=["cluster-1"])
    queue_key: str = Field(examples=["remote.cluster-1"])
    worker: Annotated[str, _name(_WORKER, "the worker that it is")]
    principal: str = Field(examples=["agent:cluster-1"])
    spec: NodeSpec
    created_at: datetime
    silent: bool = Field(description="It has not polled for `silent_after_seconds`.")
    polled_at: datetime | None
    agent_id: str | None
    draining: bool
    holding: int = Field(description="How many executions it has written down.")
    scheduler: str | None
    scheduler_problem: str | None
    problem_since: datetime | None
    job_problem: str | None = Field(description="What somebody must look at with one of its jobs. Other work goes on.")
    seq: int


class SchedulerRefShown(BaseModel):
    """Where the scheduler has it."""

    slurm_job_id: str | None
    partition: str | None
    qos: str | None


class ExecutionShown(BaseModel):
    """One execution of a submission: an attempt that the node was given."""

    execution_id: str = Field(examples=["0c9f1b0e-8f0b-5d0e-9a55-0f9d0c5b7a11"])
    number: int
    lease: Annotated[str, _name(_LEASE, "the lease that it acts with")]
    state: ExecutionState | None = Field(description="Null: handed out, and not accepted yet.")
    wanted: bool = Field(description="False: the node is to end it.")
    scheduler_ref: SchedulerRefShown
    status_detail: str | None
    result_ref: dict[str, Any] | None = Field(
        description="Where it left what it wrote, its `stderr` among it: also where it failed.",
        examples=[ResultRef(output_uri="s3://lab/out/1").wire()],
    )
    handed_out_at: datetime
    accepted_at: datetime | None
    running_at: datetime | None
    ended_at: datetime | None


class SubmissionShown(BaseModel):
    """A submission, and what the product was told last."""

    submission_id: str = Field(examples=[_SUBMISSION])
    subject: Annotated[str, _name(_SUBJECT, "the subject that stands for it")]
    workspace_id: str
    job_id: str
    management_node_id: str
    execution_owner: str
    trace_id: str
    accepted_at: datetime
    projection_state: ProjectionState
    projection_round: int
    source_execution_state: ExecutionState | None
    projected_at: datetime
    display_message: str | None
    result_ref: dict[str, Any] | None = Field(examples=[ResultRef(output_uri="s3://lab/out/1").wire()])
    failure: dict[str, Any] | None = Field(
        examples=[Failure(code="OUT_OF_MEMORY", message="It needs more memory.", retryable=False).wire()]
    )
    command: dict[str, Any] = Field(description="The command as it came first.")
    placement: dict[str, Any] = Field(description="What the node's mapping made of the execution profile.")
    seq: int


class SubmissionStanding(SubmissionShown):
    """A submission with its executions."""

    executions: list[ExecutionShown]


class BorderEntry(BaseModel):
    """One fact of what crossed the border."""

    seq: int
    at: datetime
    type: str = Field(examples=["execution_event.received"])
    actor: str = Field(examples=["agent:cluster-1"])
    trace_id: str | None
    data: dict[str, Any]


class BorderRefusal(BaseModel):
    """What was refused, and changed nothing."""

    at: datetime
    code: str = Field(examples=["invalid_transition"])
    action: str = Field(examples=["receive_execution_event"])
    actor: str
    message: str


class SubmissionHistoryShown(BaseModel):
    """What crossed the border for a submission: events received, projections sent, and what was refused."""

    submission_id: str
    entries: list[BorderEntry]
    refusals: list[BorderRefusal]
