"""Leases of all queues, live and ended (S1 section 9.2)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from tenure.api import cursor
from tenure.api.answers import Answer, answered
from tenure.api.authentication import GatewayOf, Observer
from tenure.api.body import JsonRoute
from tenure.api.schemas.attempt import LeaseRow
from tenure.api.schemas.fields import WorkerEuid
from tenure.api.schemas.page import CursorParameter, Limit, Page, page
from tenure.model.queue import Key
from tenure.model.states import LeaseStatus
from tenure.sdk import operations as ops

router = APIRouter(tags=["leases"], route_class=JsonRoute)


@router.get("/leases", operation_id="list_leases", summary="Leases, newest first", response_model=Page[LeaseRow])
async def list_leases(
    identity: Observer, gateway: GatewayOf,
    status: Annotated[LeaseStatus | None, Query(description="Of this status only.", examples=["ACTIVE"])] = None,
    queue_key: Annotated[Key | None, Query(description="Of this queue only.", examples=["extraction"])] = None,
    worker: Annotated[WorkerEuid | None, Query(alias="worker_euid", description="Of this worker only.")] = None,
    limit: Limit = 50, cursor_: CursorParameter = None,
) -> Answer:  # fmt: skip
    """Each with its execution record. ACTIVE ones that ran out are ACTIVE until a claim or a sweep expires them."""
    bound = ("leases", status, queue_key, worker)
    before = int(cursor.opened(cursor_, *bound)[0]) if cursor_ else None
    return await answered(
        gateway, identity,
        lambda caller: ops.leases(
            caller, status, limit=limit + 1, before=before, queue_key=queue_key, worker=worker
        ),
        shown=lambda rows: page(rows, limit, lambda row: [row.attempt.uid], *bound),
    )  # fmt: skip
