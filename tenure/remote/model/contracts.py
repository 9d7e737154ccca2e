"""The three contracts of S5 and the node's poll, as they cross the border (design 04)."""

from __future__ import annotations

from enum import StrEnum
from typing import Self

from pydantic import ConfigDict, Field, model_validator

from tenure.remote.model import examples
from tenure.remote.model.fields import (
    Boolean,
    Contract,
    ExecutionProfile,
    ExecutionState,
    Failure,
    Id,
    Integer,
    Number,
    PayloadRef,
    ProjectionState,
    RequestedBy,
    ResourceShape,
    ResultRef,
    Rfc3339,
    SchedulerRef,
    Sentence,
)


class SubmitJobCommand(Contract):
    """The product asks for an execution (``POST /remote/submissions``)."""

    model_config = ConfigDict(json_schema_extra={"examples": examples.SUBMIT_JOB_COMMAND})

    tenant_id: Id
    workspace_id: Id
    job_id: Id
    idempotency_key: Id
    management_node_id: Id
    execution_profile: ExecutionProfile
    resource_shape: ResourceShape
    payload_ref: PayloadRef
    requested_by: RequestedBy
    trace_id: Id | None = None


class SubmissionAccepted(Contract):
    """The answer to a command, the same for each replay of it."""

    model_config = ConfigDict(json_schema_extra={"examples": examples.SUBMISSION_ACCEPTED})

    job_id: Id
    submission_id: Id
    execution_owner: Id
    accepted_at: Rfc3339
    trace_id: Id


class ExecutionEvent(Contract):
    """An execution stack tells how an execution stands (``POST /remote/events``; S5)."""

    model_config = ConfigDict(json_schema_extra={"examples": examples.EXECUTION_EVENT})

    event_id: Id
    tenant_id: Id
    workspace_id: Id
    job_id: Id
    submission_id: Id
    execution_id: Id
    state: ExecutionState
    occurred_at: Rfc3339
    trace_id: Id
    status_detail: Sentence | None = None
    scheduler_ref: SchedulerRef | None = None
    result_ref: ResultRef | None = None
    error: Failure | None = None

    @model_validator(mode="after")
    def _what_the_state_asks_for(self) -> Self:
        if self.state is ExecutionState.COMPLETED and self.result_ref is None:
            raise ValueError("result_ref.output_uri is required when state is completed")
        if self.state is ExecutionState.FAILED and self.error is None:
            raise ValueError("error.code, error.message and error.retryable are required when state is failed")
        return self


class EventOutcome(StrEnum):
    """What an event did."""

    APPLIED = "applied"
    """It moved the execution and the submission."""
    KEPT = "kept"
    """It moved the execution; its submission had gone on without it (canceled, held, requeued)."""
    DUPLICATE = "duplicate"
    """Its event_id had come before: nothing was done."""


class EventReceived(Contract):
    """The answer to an event that was taken in."""

    model_config = ConfigDict(json_schema_extra={"examples": examples.EVENT_RECEIVED})

    event_id: Id
    outcome: EventOutcome
    submission_id: Id
    execution_id: Id
    state: ExecutionState | None = Field(description="The state of the execution now.")
    projection_state: ProjectionState = Field(description="What the product knows of the submission now.")


class EventResult(Contract):
    """What became of one event of a batch. ``status`` and ``code`` are those that it would have had alone."""

    event_id: str | None
    status: Integer
    received: EventReceived | None = None
    code: str | None = None
    detail: str | None = None
    hint: str | None = None


class EventResults(Contract):
    """The answer to a batch: a result for each event, in order."""

    model_config = ConfigDict(json_schema_extra={"examples": examples.EVENT_RESULTS})

    results: tuple[EventResult, ...]


class ProjectionUpdate(Contract):
    """The product is told how its job stands; leaves by the ledger (design 04)."""

    model_config = ConfigDict(json_schema_extra={"examples": examples.PROJECTION_UPDATE})

    projection_event_id: Id
    tenant_id: Id
    workspace_id: Id
    job_id: Id
    submission_id: Id
    projection_state: ProjectionState
    projection_round: Integer = Field(default=1, ge=1)
    source_execution_state: ExecutionState | None = None
    occurred_at: Rfc3339
    trace_id: Id
    display_message: Sentence | None = None
    result_ref: ResultRef | None = None
    failure: Failure | None = None


class Placement(Contract):
    """What the node's mapping makes of an execution profile."""

    partition: Id | None = None
    account: Id | None = None
    qos: Id | None = None


class Work(Contract):
    """An execution that a node is to begin: one attempt of one submission."""

    submission_id: Id
    execution_id: Id
    attempt: Integer = Field(ge=1)
    tenant_id: Id
    workspace_id: Id
    job_id: Id
    trace_id: Id
    queue_name: Id
    placement: Placement
    resource_shape: ResourceShape
    payload_ref: PayloadRef


class NodePoll(Contract):
    """A node says that it lives, how much it would take, and what it has (``POST /remote/nodes/NODE/poll``)."""

    model_config = ConfigDict(json_schema_extra={"examples": examples.NODE_POLL})

    agent_id: Id = Field(description="Drawn anew by each process of the agent; the newest one is the node.")
    folder_id: Id | None = Field(
        default=None,
        description="Drawn once for each state folder: an agent that is started again has the same as before, a second one "
        "beside it has another.",
    )
    accepting: Integer = Field(default=0, ge=0, le=500, description="How many executions it would take now.")
    wait_seconds: Number = Field(
        default=0, ge=0, le=60, description="How long the answer may wait for something to say."
    )
    holding: tuple[Id, ...] = Field((), max_length=5000, description="Executions it was given and has written down.")
    canceling: tuple[Id, ...] = Field((), max_length=5000, description="Executions it knows are to end.")
    draining: Boolean = Field(default=False, description="It takes nothing new and finishes what it has.")
    scheduler: Id | None = Field(default=None, description="The kind of its scheduler and its version.")
    scheduler_problem: Sentence | None = Field(
        default=None, description="Why its scheduler does not answer, if it does not."
    )
    job_problem: Sentence | None = Field(
        default=None, description="What somebody must look at with one of its jobs. Other work goes on."
    )


class NodeOrders(Contract):
    """What the node is to do. ``work`` is told again until the node holds it or has reported it."""

    model_config = ConfigDict(json_schema_extra={"examples": examples.NODE_ORDERS})

    work: tuple[Work, ...] = ()
    cancel: tuple[Id, ...] = Field((), description="Executions to end: their submission was canceled.")
    renew_within_seconds: Number = Field(description="Poll again within this time, or the node counts as silent.")
    submit_within_seconds: Number | None = Field(
        default=None,
        description="For so long after this poll was sent, what is not accepted yet may be given to the scheduler. Later on poll "
        "first: another agent may be the node by then.",
    )
