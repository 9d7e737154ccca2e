"""Submissions: what a product asks an execution stack to run, and how it stands (S5; design 04)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from tenure.api import cursor
from tenure.api.answers import Answer, answered
from tenure.api.authentication import GatewayOf, Observer, Submitter
from tenure.api.body import JsonRoute
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.page import CursorParameter, Limit, Page, part
from tenure.api.schemas.remote import CancelSubmissionBody
from tenure.remote.engine import reading
from tenure.remote.engine.canceling import cancel_submission as cancel
from tenure.remote.engine.submitting import submit_job as submit
from tenure.remote.model.contracts import SubmissionAccepted, SubmitJobCommand
from tenure.remote.model.fields import Id, ProjectionState
from tenure.remote.model.node import NodeName
from tenure.remote.model.shown import SubmissionHistoryShown, SubmissionShown, SubmissionStanding

router = APIRouter(prefix="/api/v1/remote/submissions", tags=["remote"], route_class=JsonRoute)
Submission = Annotated[Id, Path(alias="submission_id", description="As it was answered.", examples=["JX-YGJ24"])]


@router.post("", operation_id="submit_job", summary="Submit a job to a management node", status_code=202,
             response_model=SubmissionAccepted)  # fmt: skip
async def submit_job(body: SubmitJobCommand, identity: Submitter, gateway: GatewayOf) -> Answer:
    """The same command again, but for its `requested_by.session_id`, is answered as the first time.

    Another command under the same key is `idempotency_conflict`; what the node's mapping does not allow is
    `policy_rejected`; a node that is silent is `execution_unavailable`, with Retry-After.
    """
    return await answered(gateway, identity, lambda caller: submit(caller, body), status=202)


@router.get("", operation_id="list_submissions", summary="Submissions", response_model=Page[SubmissionShown],
            responses={404: {"description": "There is no such management node."}})  # fmt: skip
async def list_submissions(
    identity: Observer, gateway: GatewayOf,
    workspace_id: Annotated[Id | None, Query(description="Of this workspace only.")] = None,
    job_id: Annotated[Id | None, Query(description="Of this job only.")] = None,
    node: Annotated[NodeName | None, Query(description="Of this management node only.")] = None,
    projection_state: Annotated[ProjectionState | None, Query(description="That stand so for the product.")] = None,
    limit: Limit = 50, cursor_: CursorParameter = None,
) -> Answer:  # fmt: skip
    """The newest first.

    A page may be short, even empty, and not the last: go on until `next` is null.
    """
    bound = ("submissions", workspace_id, job_id, node, projection_state)
    before = int(cursor.opened(cursor_, *bound)[0]) if cursor_ else None
    return await answered(
        gateway, identity,
        lambda caller: reading.submissions(
            caller, workspace_id=workspace_id, job_id=job_id, node=node, projection_state=projection_state,
            limit=limit, before=before,
        ),
        shown=lambda found: part(
            found.submissions, [found.next_before] if found.next_before is not None else None, *bound
        ),
    )  # fmt: skip


@router.get("/{submission_id}", operation_id="get_submission", summary="A submission as it stands",
            response_model=SubmissionStanding)  # fmt: skip
async def get_submission(submission: Submission, identity: Observer, gateway: GatewayOf) -> Answer:
    """What the product was told last, and all executions."""
    return await answered(gateway, identity, lambda caller: reading.standing(caller, submission))


@router.get("/{submission_id}/history", operation_id="get_submission_history", summary="What crossed the border",
            response_model=SubmissionHistoryShown)  # fmt: skip
async def get_submission_history(
    submission: Submission, identity: Observer, gateway: GatewayOf,
    after_seq: Annotated[int, Query(ge=0, lt=2**31, description="Entries after this one only.")] = 0,
    limit: Limit = 500,
) -> Answer:  # fmt: skip
    """Events received and projections sent, in order; and what was refused: as many of the newest."""
    return await answered(
        gateway, identity, lambda caller: reading.history(caller, submission, after_seq=after_seq, limit=limit)
    )


@router.post("/{submission_id}/cancel", operation_id="cancel_submission", summary="Take a submission back",
             response_model=SubmissionStanding)  # fmt: skip
async def cancel_submission(
    submission: Submission, body: CancelSubmissionBody, identity: Submitter, gateway: GatewayOf,
    idempotency_key: IdempotencyKeyHeader = None,
) -> Answer:  # fmt: skip
    """Its projection is `failed` with the code `canceled` at once. The node hears of it at its next poll and ends the job."""
    key = body.keyed(idempotency_key)
    return await answered(gateway, identity, lambda caller: cancel(caller, submission, body.reason, key))
