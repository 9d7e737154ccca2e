"""Templates: the kinds of subjects."""

from __future__ import annotations

from fastapi import APIRouter

from tenure.api import cursor
from tenure.api.answers import Answer, answered
from tenure.api.authentication import GatewayOf, Observer
from tenure.api.body import JsonRoute
from tenure.api.schemas.outcome import TemplateShown
from tenure.api.schemas.page import CursorParameter, Limit, Page, page
from tenure.engine.caller import Caller
from tenure.store.operation import Op
from tenure.store.records import Template

router = APIRouter(tags=["subjects"], route_class=JsonRoute)


def _templates(caller: Caller, after: str) -> Op[list[Template]]:
    found = yield from caller.store.templates(caller.tenant)
    return sorted((t for t in found.values() if t.code > after), key=lambda t: t.code)


@router.get("/templates", operation_id="list_templates", summary="All templates", response_model=Page[TemplateShown])
async def list_templates(
    identity: Observer, gateway: GatewayOf, limit: Limit = 50, cursor_: CursorParameter = None
) -> Answer:
    """By code, each with the JSON Schema of its subjects' properties."""
    after = str(cursor.opened(cursor_, "templates")[0]) if cursor_ else ""
    return await answered(
        gateway, identity, lambda caller: _templates(caller, after),
        shown=lambda found: page(found[: limit + 1], limit, lambda t: [t.code], "templates"),
    )  # fmt: skip
