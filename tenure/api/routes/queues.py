"""Queues: summaries, configuration, and what is visible in them (S1 section 9.2)."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from tenure.api.authentication import GatewayOf, Observer
from tenure.sdk import operations as ops
from tenure.sdk.public_form import public

router = APIRouter(tags=["queues"])


@router.get("/queues")
async def queues(identity: Observer, gateway: GatewayOf) -> list[dict[str, Any]]:
    """All active queues with their policy."""
    found = await gateway.perform(identity, ops.queues_all)
    return [public(queue) for queue in found]
