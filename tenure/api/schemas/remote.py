"""Management nodes and submissions in requests and answers (S5; design 04)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from tenure.api.schemas.fields import LeaseName, SubjectName, WorkerName
from tenure.api.schemas.guards import KeyedBody
from tenure.model import euid
from tenure.model.principal import PrincipalName
from tenure.model.requests import Text
from tenure.remote.model.fields import ExecutionState, Failure, ProjectionState, ResultRef
from tenure.remote.model.node import NodeSpec

_QUEUES: Any = {"normal": {"partition": "cpu", "account": "lab", "max_walltime_seconds": 86400}}
_NODE_EUID = Annotated[str, WithJsonSchema({"type": "string", "description": "The EUID of a management node.",
                                            "examples": [euid.format_euid(euid.NODE, 1_000_002)]})]  # fmt: skip
MOST_EVENTS = 500


class NodeBody(NodeSpec):
    """A management node as it is to be."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"queues": _QUEUES}]})

    principal: PrincipalName | None = Field(
        None, description="Who may poll and report for it, and for no other. Left out: `agent:NODE`, made where it is missing.",
        examples=["agent:cluster-1"],
    )  # fmt: skip

    def spec(self) -> NodeSpec:
        """The definition without the principal."""
        return NodeSpec.model_validate(self.model_dump(exclude={"principal"}))


class NodeShown(BaseModel):
    """A management node, and what its last poll said."""

    euid: _NODE_EUID
    node: str = Field(description="Its name: `management_node_id` in contracts.", examples=["cluster-1"])
    queue_key: str = Field(examples=["remote.cluster-1"])
    worker: WorkerName
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
    lease: LeaseName
    state: ExecutionState | None = Field(description="Null: handed out, and not accepted yet.")
    wanted: bool = Field(description="False: the node is to end it.")
    scheduler_ref: SchedulerRefShown
    status_detail: str | None
    handed_out_at: datetime
    accepted_at: datetime | None
    running_at: datetime | None
    ended_at: datetime | None


class SubmissionShown(BaseModel):
    """A submission, and what the product was told last."""

    submission_id: str = Field(examples=[euid.format_euid(euid.SUBMISSION, 1_000_002)])
    subject: SubjectName
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


class CancelSubmissionBody(KeyedBody):
    """Take a submission back."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "the input was wrong"}]})

    reason: Text | None = None


#: Each is read by itself, so that one that is wrong leaves the others alone.
_Event = Annotated[Any, WithJsonSchema({"$ref": "#/components/schemas/ExecutionEvent"})]


class EventsBody(BaseModel):
    """Events in the order in which they happened."""

    model_config = ConfigDict(extra="forbid")

    events: Annotated[list[_Event], Field(min_length=1, max_length=MOST_EVENTS)]
