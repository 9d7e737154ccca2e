"""Dead letters and holds: what waits for a person (S1 sections 9.2 and 10.1)."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from tenure.api import cursor
from tenure.api.answers import Answer, answered
from tenure.api.authentication import GatewayOf, Observer
from tenure.api.body import JsonRoute
from tenure.api.schemas.dead_letter import DeadLetterRow
from tenure.api.schemas.hold import HoldRow
from tenure.api.schemas.page import CursorParameter, Limit, Page, page
from tenure.model.queue import Key
from tenure.sdk import operations as ops

router = APIRouter(tags=["triage"], route_class=JsonRoute)


@router.get("/dead-letter", operation_id="list_dead_letters", summary="Dead letters, newest first",
            response_model=Page[DeadLetterRow])  # fmt: skip
async def list_dead_letters(
    identity: Observer, gateway: GatewayOf,
    open_only: Annotated[bool, Query(description="Without those that were resolved.")] = True,
    queue_key: Annotated[Key | None, Query(description="Of this queue only.", examples=["extraction"])] = None,
    limit: Limit = 50, cursor_: CursorParameter = None,
) -> Answer:  # fmt: skip
    """What gave up, and why."""
    bound = ("dead-letter", open_only, queue_key)
    before = int(cursor.opened(cursor_, *bound)[0]) if cursor_ else None
    return await answered(
        gateway, identity,
        lambda caller: ops.dead_letters(
            caller, open_only=open_only, limit=limit + 1, before=before, queue_key=queue_key
        ),
        shown=lambda rows: page(rows, limit, lambda row: [row.letter.uid], *bound),
    )  # fmt: skip


@router.get("/holds", operation_id="list_holds", summary="Holds, newest first", response_model=Page[HoldRow])
async def list_holds(
    identity: Observer, gateway: GatewayOf,
    active_only: Annotated[bool, Query(description="Without those that were released.")] = True,
    queue_key: Annotated[Key | None, Query(description="Of this queue only.", examples=["extraction"])] = None,
    limit: Limit = 50, cursor_: CursorParameter = None,
) -> Answer:  # fmt: skip
    """What stops work, who placed it, and why."""
    bound = ("holds", active_only, queue_key)
    before = int(cursor.opened(cursor_, *bound)[0]) if cursor_ else None
    return await answered(
        gateway, identity,
        lambda caller: ops.holds(caller, active_only=active_only, limit=limit + 1, before=before, queue_key=queue_key),
        shown=lambda rows: page(rows, limit, lambda row: [row.hold.uid], *bound),
    )  # fmt: skip
