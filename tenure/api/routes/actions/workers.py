"""The actions on workers: register, heartbeat, and whether one works (S1 sections 5.2, 5.3 and 10.3)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from fastapi import APIRouter, Request

from tenure.api.answers import Answer, answered
from tenure.api.authentication import Admin, GatewayOf, WorkerIdentity
from tenure.api.body import JsonRoute
from tenure.api.gateway import Gateway
from tenure.api.ownership import require_own_worker
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.registry import HeartbeatBody, RegisterWorkerBody, WorkerStatusBody
from tenure.api.schemas.worker import WorkerShown, shown
from tenure.api.sweeping import Sweeping
from tenure.engine.actions import workers
from tenure.engine.caller import Caller
from tenure.model.errors import Forbidden, InvalidRequest
from tenure.model.principal import Identity
from tenure.model.requests import validated
from tenure.model.roles import Permission
from tenure.model.worker import NODE_CAPABILITY, Worker, WorkerSpec
from tenure.store.operation import Op

router = APIRouter(prefix="/actions", tags=["workers"], route_class=JsonRoute)


def _seen(caller: Caller, op: Op[Worker]) -> Op[tuple[Worker, datetime]]:
    worker = yield from op
    return worker, (yield from caller.store.clock())


async def _answered(gateway: Gateway, identity: Identity, make: Callable[[Caller], Op[Worker]]) -> Answer:
    return await answered(
        gateway, identity, lambda caller: _seen(caller, make(caller)), shown=lambda found: shown(*found)
    )


@router.post(
    "/register-worker", operation_id="register_worker", summary="Register a worker", response_model=WorkerShown
)
async def register_worker(
    body: RegisterWorkerBody, identity: WorkerIdentity, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """Creates the worker, or takes its key over: then only the newest registration may claim, beat and renew.

    Sent again with the same Idempotency-Key, it is answered with the incarnation of the first time.
    """
    key = body.keyed(idempotency_key)
    spec = validated(WorkerSpec, **body.given())
    if any(capability.startswith(NODE_CAPABILITY) for capability in spec.capabilities):
        raise Forbidden(
            f"A worker does not name itself a management node ({NODE_CAPABILITY}NODE).",
            "Leave that capability out; an admin defines nodes: tenure node define.",
        )
    return await _answered(gateway, identity, lambda caller: workers.register_worker(caller, spec, key))


@router.post("/heartbeat-worker", operation_id="heartbeat_worker", summary="Say that a worker is alive",
             response_model=WorkerShown)  # fmt: skip
async def heartbeat_worker(
    body: HeartbeatBody, request: Request, identity: WorkerIdentity, gateway: GatewayOf,
    idempotency_key: IdempotencyKeyHeader = None,
) -> Answer:  # fmt: skip
    """The worker as it stands, so that it learns that it is to drain. Beat at a third of heartbeat_ttl_seconds.

    A beat is the same however often it is sent, and each counts from when it comes in: it takes no idempotency key.
    """
    if body.keyed(idempotency_key) is not None:
        raise InvalidRequest(
            "Idempotency-Key: a heartbeat takes none.", "Send each beat without one; to send one twice does no harm."
        )
    await require_own_worker(gateway, identity, body.worker_euid)
    answer = await _answered(
        gateway, identity,
        lambda caller: workers.heartbeat_worker(caller, body.worker_euid, body.incarnation, body.error_class),
    )  # fmt: skip
    sweeping: Sweeping = request.app.state.sweeping
    await sweeping.beat(identity)
    return answer


async def _set(
    gateway: Gateway, identity: Identity, body: WorkerStatusBody, key: str | None,
    operation: Callable[[Caller, int, str | None, str | None], Op[Worker]],
) -> Answer:  # fmt: skip
    return await _answered(
        gateway, identity, lambda caller: operation(caller, body.worker_euid, body.reason, body.keyed(key))
    )


@router.post("/drain-worker", operation_id="drain_worker", summary="Let a worker finish and claim no more",
             response_model=WorkerShown)  # fmt: skip
async def drain_worker(
    body: WorkerStatusBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It finishes what it holds."""
    return await _set(gateway, identity, body, idempotency_key, workers.drain_worker)


@router.post("/disable-worker", operation_id="disable_worker", summary="Forbid a worker to work",
             response_model=WorkerShown)  # fmt: skip
async def disable_worker(
    body: WorkerStatusBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It may neither claim nor renew: what it holds runs out."""
    return await _set(gateway, identity, body, idempotency_key, workers.disable_worker)


@router.post("/enable-worker", operation_id="enable_worker", summary="Let a worker work again",
             response_model=WorkerShown)  # fmt: skip
async def enable_worker(
    body: WorkerStatusBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """Undoes draining and disabling."""
    return await _set(gateway, identity, body, idempotency_key, workers.enable_worker)


@router.post("/retire-worker", operation_id="retire_worker", summary="Mark a worker as gone",
             response_model=WorkerShown)  # fmt: skip
async def retire_worker(
    body: WorkerStatusBody, identity: WorkerIdentity, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It is gone for good, unless a process registers its key again. A worker retires itself; an admin any other."""
    if Permission.ADMINISTER not in identity.permissions:
        await require_own_worker(gateway, identity, body.worker_euid)
    return await _set(gateway, identity, body, idempotency_key, workers.retire_worker)
