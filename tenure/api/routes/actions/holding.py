"""The actions of the holder of a lease: start, dispatch, renew, release, complete, fail, defer (S1 sections 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

from tenure.api.answers import Answer, answered
from tenure.api.authentication import GatewayOf, WorkerIdentity
from tenure.api.body import JsonRoute
from tenure.api.gateway import Gateway
from tenure.api.ownership import require_own_worker
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.outcome import ActionResult
from tenure.api.schemas.working import (
    CompleteBody,
    DeferBody,
    DispatchBody,
    FailBody,
    LeaseBody,
    ReleaseBody,
    RenewBody,
    StartBody,
)
from tenure.model.principal import Identity
from tenure.sdk import operations as ops
from tenure.store.operation import Op

router = APIRouter(prefix="/actions", tags=["work"], route_class=JsonRoute)


async def _act(
    gateway: Gateway, identity: Identity, body: LeaseBody, key: str | None, operation: Callable[..., Op[Any]]
) -> Answer:
    await require_own_worker(gateway, identity, body.worker_euid)
    return await answered(
        gateway, identity,
        lambda caller: operation(
            caller, body.lease_euid, worker=body.worker_euid, token=body.lease_token, idempotency_key=body.keyed(key),
            **body.details(),
        ),
    )  # fmt: skip


@router.post("/start", operation_id="start", summary="Begin the work under a lease", response_model=ActionResult)
async def start(
    body: StartBody, identity: WorkerIdentity, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """The subject becomes RUNNING."""
    return await _act(gateway, identity, body, idempotency_key, ops.start)


@router.post("/dispatch-external", operation_id="dispatch_external", summary="The work goes on outside",
             response_model=ActionResult)  # fmt: skip
async def dispatch_external(
    body: DispatchBody, identity: WorkerIdentity, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """The subject becomes WAITING_EXTERNAL; the lease lasts until its deadline, or until someone reconciles."""
    return await _act(gateway, identity, body, idempotency_key, ops.dispatch_external)


@router.post("/renew-lease", operation_id="renew_lease", summary="Hold on to a lease", response_model=ActionResult)
async def renew_lease(
    body: RenewBody, identity: WorkerIdentity, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It lasts another while from now. One that ran out cannot be renewed: `lease_expired`."""
    return await _act(gateway, identity, body, idempotency_key, ops.renew)


@router.post("/release-lease", operation_id="release_lease", summary="Give the work back undone",
             response_model=ActionResult)  # fmt: skip
async def release_lease(
    body: ReleaseBody, identity: WorkerIdentity, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """The subject is claimable again at once; no attempt is spent."""
    return await _act(gateway, identity, body, idempotency_key, ops.release_lease)


@router.post("/complete", operation_id="complete", summary="Report the work as done", response_model=ActionResult)
async def complete(
    body: CompleteBody, identity: WorkerIdentity, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """The subject is COMPLETED, or READY in its next queue. Sent again, it is answered as the first time."""
    return await _act(gateway, identity, body, idempotency_key, ops.complete)


@router.post("/fail", operation_id="fail", summary="Report the work as failed", response_model=ActionResult)
async def fail(
    body: FailBody, identity: WorkerIdentity, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """By its class it is tried again later, held, canceled, or given up with a dead letter (S1 section 8.4)."""
    return await _act(gateway, identity, body, idempotency_key, ops.fail)


@router.post("/defer", operation_id="defer", summary="Put the work off", response_model=ActionResult)
async def defer(
    body: DeferBody, identity: WorkerIdentity, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It is tried again later; no attempt is spent."""
    return await _act(gateway, identity, body, idempotency_key, ops.defer)
