"""What a client can do with management nodes and submissions, written once as operations (S5; design 04)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from tenure.engine.caller import Caller
from tenure.model.requests import validated
from tenure.remote.engine import canceling, nodes, polling, reading, receiving, submitting
from tenure.remote.engine.nodes import NodeStanding
from tenure.remote.engine.receiving import Outcome
from tenure.remote.model.contracts import (
    ExecutionEvent,
    NodeOrders,
    NodePoll,
    SubmissionAccepted,
    SubmitJobCommand,
)
from tenure.remote.model.fields import Contract, ProjectionState
from tenure.remote.model.names import submission_uid
from tenure.remote.model.node import NodeSpec
from tenure.remote.model.shown import NodeShown, SubmissionHistoryShown, SubmissionShown, SubmissionStanding
from tenure.remote.rows import SubmissionRow
from tenure.sdk.remote_form import history_form, node_form, standing_form, submission_form
from tenure.store.operation import Op

C = TypeVar("C", bound=Contract)


def define_node(caller: Caller, /, node: str, *, principal: str | None = None, **spec: Any) -> Op[NodeShown]:
    """Define a management node, or change it; ``spec`` as in ``NodeSpec``. Makes its queue, worker and principal."""
    return _shown_node(nodes.define_node(caller, node, validated(NodeSpec, **spec), principal))


def node(caller: Caller, /, node: str) -> Op[NodeShown]:
    """One management node."""
    return _shown_node(nodes.node_named(caller, node))


def nodes_all(caller: Caller, /) -> Op[list[NodeShown]]:
    """All management nodes, by name."""
    return [NodeShown.model_validate(node_form(found)) for found in (yield from nodes.nodes(caller))]


def poll_node(caller: Caller, /, node: str, said: NodePoll | Mapping[str, Any]) -> Op[NodeOrders]:
    """A node says that it lives, and asks what to do."""
    return polling.poll(caller, node, _contract(NodePoll, said))


def submit_job(caller: Caller, /, command: SubmitJobCommand | Mapping[str, Any]) -> Op[SubmissionAccepted]:
    """Submit a job to a management node; the same command again is answered as the first time."""
    return submitting.submit_job(caller, _contract(SubmitJobCommand, command))


def submission(caller: Caller, /, submission_id: str) -> Op[SubmissionStanding]:
    """A submission as it stands, with its executions."""
    return SubmissionStanding.model_validate(standing_form((yield from reading.standing(caller, submission_id))))


def submissions(
    caller: Caller, /, *, workspace_id: str | None = None, job_id: str | None = None, node: str | None = None,
    projection_state: ProjectionState | str | None = None, limit: int = 50, before: str | None = None,
) -> Op[list[SubmissionShown]]:  # fmt: skip
    """Submissions, the newest first; ``before`` is the id of one, below which to go on."""
    state = ProjectionState(projection_state) if projection_state is not None else None
    below = submission_uid(before) if before is not None else None
    rows: list[SubmissionRow] = []
    while len(rows) < limit:
        page = yield from reading.submissions(
            caller, workspace_id=workspace_id, job_id=job_id, node=node, projection_state=state,
            limit=limit - len(rows), before=below,
        )  # fmt: skip
        rows += page.submissions
        if (below := page.next_before) is None:
            break
    return [SubmissionShown.model_validate(submission_form(row)) for row in rows]


def submission_history(caller: Caller, /, submission_id: str) -> Op[SubmissionHistoryShown]:
    """What crossed the border for a submission, in order."""
    return SubmissionHistoryShown.model_validate(history_form((yield from reading.history(caller, submission_id))))


def cancel_submission(
    caller: Caller, /, submission_id: str, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[SubmissionStanding]:
    """Take a submission back: it is `failed` with the code `canceled`, and the node ends its job."""
    found = yield from canceling.cancel_submission(caller, submission_id, reason, idempotency_key)
    return SubmissionStanding.model_validate(standing_form(found))


def receive_events(caller: Caller, /, events: list[ExecutionEvent | Mapping[str, Any]]) -> Op[list[Outcome]]:
    """Take in execution events, in order; what became of each."""
    return receiving.receive_events(caller, [_contract(ExecutionEvent, event) for event in events])


def _shown_node(op: Op[NodeStanding]) -> Op[NodeShown]:
    return NodeShown.model_validate(node_form((yield from op)))


def _contract(kind: type[C], given: C | Mapping[str, Any]) -> C:
    return given if isinstance(given, kind) else validated(kind, **dict(given))
