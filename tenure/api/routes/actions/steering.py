"""The actions on workflows and runs: define, signal, pause, decide, cancel, do again (design 02, API)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

from tenure.api.answers import Answer, answered
from tenure.api.authentication import Admin, GatewayOf, Operator, Submitter, WorkerIdentity
from tenure.api.body import JsonRoute
from tenure.api.gateway import Gateway
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.run import RunResult, WorkflowShown
from tenure.api.schemas.steering import (
    DecideBody,
    DefineWorkflowBody,
    MigrateBody,
    ReasonedBody,
    ReplayBody,
    ResumeBody,
    RetireWorkflowBody,
    RetryBody,
    RunBody,
    SignalBody,
    SignalSubjectBody,
)
from tenure.model.errors import InvalidRequest
from tenure.model.principal import Identity
from tenure.sdk import runs as ops
from tenure.store.operation import Op

router = APIRouter(prefix="/actions", tags=["runs"], route_class=JsonRoute)


async def _act(
    gateway: Gateway, identity: Identity, body: RunBody, key: str | None, operation: Callable[..., Op[Any]]
) -> Answer:
    return await answered(
        gateway, identity,
        lambda caller: operation(caller, body.run_euid, idempotency_key=body.keyed(key), **body.given("run_euid")),
    )  # fmt: skip


async def _again(
    gateway: Gateway,
    identity: Identity,
    body: ReplayBody | RetryBody,
    header: str | None,
    operation: Callable[..., Op[Any]],
) -> Answer:
    """A new run; where it is given no key of its own, the Idempotency-Key names it."""
    key = body.key if body.key is not None else body.keyed(header)
    if body.force and body.reason is None:
        raise InvalidRequest("force: irreversible work is done again only with a reason.", "Give the reason.")
    details = body.given("run_euid", "key")
    return await answered(gateway, identity, lambda caller: operation(caller, body.run_euid, key=key, **details))


@router.post("/define-workflow", operation_id="define_workflow", summary="Register a version of a workflow",
             response_model=WorkflowShown)  # fmt: skip
async def define_workflow(
    body: DefineWorkflowBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """Validated whole: `invalid_definition` names every problem with its step. The same one again changes nothing."""
    body.keyed(idempotency_key)
    return await answered(gateway, identity, lambda caller: ops.define_workflow(caller, body.definition))


@router.post("/retire-workflow", operation_id="retire_workflow", summary="Take a version out of use",
             response_model=WorkflowShown)  # fmt: skip
async def retire_workflow(
    body: RetireWorkflowBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """Runs that go by it go on."""
    body.keyed(idempotency_key)
    return await answered(
        gateway, identity, lambda caller: ops.retire_workflow(caller, body.name, body.version, reason=body.reason)
    )


@router.post("/signal-run", operation_id="signal_run", summary="Send a signal to a run", response_model=RunResult)
async def signal_run(
    body: SignalBody, identity: Submitter, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It waits until a step takes it."""
    return await _act(gateway, identity, body, idempotency_key, ops.signal_run)


@router.post("/signal-subject", operation_id="signal_subject", summary="Send a signal to the code of a job",
             response_model=RunResult)  # fmt: skip
async def signal_subject(
    body: SignalSubjectBody, identity: Submitter, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """To the run that the job is a step of; a plain job becomes a run of one step by it."""
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity,
        lambda caller: ops.signal_job(caller, body.subject_euid, body.name, body.payload, idempotency_key=key),
    )  # fmt: skip


@router.post("/cancel-run", operation_id="cancel_run", summary="Stop a run", response_model=RunResult)
async def cancel_run(
    body: ReasonedBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """Its children go with it; what was done is undone where it can be."""
    return await _act(gateway, identity, body, idempotency_key, ops.cancel_run)


@router.post("/pause-run", operation_id="pause_run", summary="Plan nothing more", response_model=RunResult)
async def pause_run(
    body: ReasonedBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """What is under way goes on."""
    return await _act(gateway, identity, body, idempotency_key, ops.pause_run)


@router.post("/resume-run", operation_id="resume_run", summary="Let a run go on", response_model=RunResult)
async def resume_run(
    body: ResumeBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """From a pause of the whole, or from the pause step at which it stands."""
    return await _act(gateway, identity, body, idempotency_key, ops.resume_run)


@router.post("/approve-run", operation_id="approve_run", summary="Approve", response_model=RunResult)
async def approve_run(
    body: DecideBody, identity: WorkerIdentity, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """At the boundary where the run stands. The same key again changes nothing; another decision is a conflict.

    Whom the step names as approvers may decide, by name or by role; where it names nobody, whoever may operate.
    """
    return await _act(gateway, identity, body, idempotency_key, ops.approve)


@router.post("/reject-run", operation_id="reject_run", summary="Reject", response_model=RunResult)
async def reject_run(
    body: DecideBody, identity: WorkerIdentity, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """At the boundary where the run stands; for the same people as approving."""
    return await _act(gateway, identity, body, idempotency_key, ops.reject)


@router.post(
    "/replay-run", operation_id="replay_run", summary="Run it once more from its input", response_model=RunResult
)
async def replay_run(
    body: ReplayBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """A new run. Refused where irreversible work would be done again, unless forced with a reason."""
    return await _again(gateway, identity, body, idempotency_key, ops.replay_run)


@router.post("/retry-run", operation_id="retry_run", summary="Go on where a run failed", response_model=RunResult)
async def retry_run(
    body: RetryBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """A new run that keeps what the other did before the step that failed, or before `from_step`."""
    return await _again(gateway, identity, body, idempotency_key, ops.retry_run)


@router.post(
    "/migrate-run", operation_id="migrate_run", summary="Go on under another version", response_model=RunResult
)
async def migrate_run(
    body: MigrateBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """The run must be paused, and what it did must have its place in that version."""
    return await _act(gateway, identity, body, idempotency_key, ops.migrate_run)
