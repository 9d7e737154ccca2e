"""The actions of operators on subjects, and of admins on leases (S1 sections 10.2 to 10.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter

from tenure.api.answers import Answer, answered
from tenure.api.authentication import Admin, GatewayOf, Operator
from tenure.api.body import JsonRoute
from tenure.api.gateway import Gateway
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.operating import (
    CancelBody,
    ExpireBody,
    HoldBody,
    ReleaseHoldBody,
    RequeueBody,
    ResolveBody,
    SubjectBody,
)
from tenure.api.schemas.outcome import ActionResult
from tenure.model.principal import Identity
from tenure.model.roles import Permission
from tenure.sdk import operations as ops
from tenure.store.operation import Op

router = APIRouter(prefix="/actions", tags=["operate"], route_class=JsonRoute)


async def _act(
    gateway: Gateway, identity: Identity, body: SubjectBody, key: str | None, operation: Callable[..., Op[Any]],
    **besides: Any,
) -> Answer:  # fmt: skip
    return await answered(
        gateway, identity,
        lambda caller: operation(
            caller, body.subject_euid, idempotency_key=body.keyed(key), **body.details(), **besides
        ),
    )  # fmt: skip


@router.post("/hold", operation_id="hold", summary="Stop the line for a subject", response_model=ActionResult)
async def hold(
    body: HoldBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It leaves its queue, and a live lease ends, until the hold is released. The reason is evidence."""
    return await _act(gateway, identity, body, idempotency_key, ops.hold)


@router.post("/release-hold", operation_id="release_hold", summary="Let go of a hold", response_model=ActionResult)
async def release_hold(
    body: ReleaseHoldBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """The subject is where it was, once no other hold is left."""
    return await _act(gateway, identity, body, idempotency_key, ops.release_hold, hold=body.hold_euid)


@router.post("/requeue", operation_id="requeue", summary="Route a subject (again)", response_model=ActionResult)
async def requeue(
    body: RequeueBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It is READY in the queue. To reopen what is terminal takes an admin."""
    if body.reopen:
        identity.demand(Permission.ADMINISTER)
    return await _act(gateway, identity, body, idempotency_key, ops.requeue)


@router.post("/cancel", operation_id="cancel", summary="End a subject for good", response_model=ActionResult)
async def cancel(
    body: CancelBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It is CANCELED and in no queue; a live lease ends."""
    return await _act(gateway, identity, body, idempotency_key, ops.cancel)


@router.post("/resolve-dead-letter", operation_id="resolve_dead_letter", summary="Close a dead letter",
             response_model=ActionResult)  # fmt: skip
async def resolve_dead_letter(
    body: ResolveBody, identity: Operator, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """The open dead letter of the subject is closed; the subject stays as it is."""
    return await _act(gateway, identity, body, idempotency_key, ops.resolve_dead_letter)


@router.post("/expire-lease", operation_id="expire_lease", summary="Mark a lapsed lease EXPIRED",
             response_model=ActionResult)  # fmt: skip
async def expire_lease(
    body: ExpireBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """`force` ends a live lease, too. Its holder's later reports are refused."""
    return await answered(
        gateway, identity,
        lambda caller: ops.expire_lease(
            caller, body.lease_euid, idempotency_key=body.keyed(idempotency_key), **body.given("lease_euid")
        ),
    )  # fmt: skip
