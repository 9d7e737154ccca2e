"""How long what is no fact is kept (docs/decisions/0018)."""

from __future__ import annotations

from fastapi import APIRouter

from tenure.api.answers import Answer, answered
from tenure.api.authentication import Admin, GatewayOf
from tenure.api.body import JsonRoute
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.retention import RetentionList, RetentionShown, SetRetentionBody
from tenure.ledger import retention
from tenure.sdk.public_form import public

PREFIX = "/api/v1/ledger"
router = APIRouter(prefix=PREFIX, tags=["retention"], route_class=JsonRoute)


@router.get("/retention", operation_id="list_retention", summary="How long it is kept", response_model=RetentionList)
async def list_retention(identity: Admin, gateway: GatewayOf) -> Answer:
    """Of each kind that is no fact: for how many days, and what of it was removed."""
    return await answered(gateway, identity, retention.retention, shown=lambda rows: {"items": public(rows)})


@router.post("/actions/set-retention", operation_id="set_retention", summary="Keep it longer, or shorter",
             response_model=RetentionShown)  # fmt: skip
async def set_retention(
    body: SetRetentionBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """A fact of the tenant. A shorter time removes what is older with the next cleaning; a longer one brings nothing back."""
    key = body.keyed(idempotency_key)
    return await answered(
        gateway, identity,
        lambda caller: retention.set_retention(caller, body.kind, body.days, body.reason, idempotency_key=key),
    )  # fmt: skip
