"""The actions on queues and templates (S1 section 2.1)."""

from __future__ import annotations

from fastapi import APIRouter

from tenure.api.answers import Answer, answered
from tenure.api.authentication import Admin, GatewayOf
from tenure.api.body import JsonRoute
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.outcome import TemplateShown
from tenure.api.schemas.queue import QueueShown
from tenure.api.schemas.registry import DefineQueueBody, DefineTemplateBody, RetireQueueBody, UpdateQueueBody
from tenure.engine.actions import queues

router = APIRouter(prefix="/actions", tags=["queues"], route_class=JsonRoute)


@router.post("/define-queue", operation_id="define_queue", summary="Define a queue", response_model=QueueShown)
async def define_queue(
    body: DefineQueueBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """Templates that it serves and that do not exist yet are defined, without a schema."""
    key = body.keyed(idempotency_key)
    return await answered(gateway, identity, lambda caller: queues.define_queue(caller, body.policy, key))


@router.post("/update-queue-policy", operation_id="update_queue_policy", summary="Change a queue's policy",
             response_model=QueueShown)  # fmt: skip
async def update_queue_policy(
    body: UpdateQueueBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It holds for claims from now on; leases keep their time."""
    changes = body.changes.model_dump(mode="json", exclude_unset=True)
    return await answered(
        gateway, identity,
        lambda caller: queues.update_queue_policy(
            caller, body.queue_key, changes, expected_revision=body.expected_revision,
            idempotency_key=body.keyed(idempotency_key),
        ),
    )  # fmt: skip


@router.post("/retire-queue", operation_id="retire_queue", summary="Retire a queue", response_model=QueueShown)
async def retire_queue(
    body: RetireQueueBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It takes no more claims; what waits in it waits for a queue of the same key, or to be requeued."""
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity, lambda caller: queues.retire_queue(caller, body.queue_key, body.reason, key)
    )


@router.post("/define-template", operation_id="define_template", summary="Define a kind of subject",
             response_model=TemplateShown)  # fmt: skip
async def define_template(
    body: DefineTemplateBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """The same definition again changes nothing; another schema under the same code is `already_exists`.

    So the code makes it idempotent, with an idempotency key or without one.
    """
    body.keyed(idempotency_key)
    return await answered(
        gateway, identity, lambda caller: queues.define_template(caller, body.code, body.properties_schema)
    )
