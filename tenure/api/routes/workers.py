"""Workers: who works, and how they are (S1 section 9.2)."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Path

from tenure.api import cursor
from tenure.api.answers import Answer, answered
from tenure.api.authentication import GatewayOf, Observer
from tenure.api.body import JsonRoute
from tenure.api.schemas.fields import WorkerEuid
from tenure.api.schemas.page import CursorParameter, Limit, Page, page
from tenure.api.schemas.worker import WorkerShown, shown
from tenure.engine.caller import Caller
from tenure.model.errors import NotFound
from tenure.model.worker import Worker
from tenure.sdk import operations as ops
from tenure.store.operation import Op

router = APIRouter(tags=["workers"], route_class=JsonRoute)


def _workers(caller: Caller, after: str) -> Op[tuple[list[Worker], datetime]]:
    found = yield from ops.workers_all(caller)
    now = yield from caller.store.clock()
    return sorted((w for w in found if w.worker_key > after), key=lambda w: w.worker_key), now


def _worker(caller: Caller, uid: int) -> Op[tuple[Worker, datetime]]:
    worker = yield from caller.store.worker(caller.tenant, uid=uid)
    if worker is None:
        raise NotFound("There is no such worker.", "Check its EUID; what belongs to another tenant cannot be seen.")
    return worker, (yield from caller.store.clock())


@router.get("/workers", operation_id="list_workers", summary="All workers that are not retired",
            response_model=Page[WorkerShown])  # fmt: skip
async def list_workers(
    identity: Observer, gateway: GatewayOf, limit: Limit = 50, cursor_: CursorParameter = None
) -> Answer:
    """By key, each with its status as set and as its heartbeat shows it."""
    after = str(cursor.opened(cursor_, "workers")[0]) if cursor_ else ""
    return await answered(
        gateway, identity, lambda caller: _workers(caller, after),
        shown=lambda found: page(
            found[0][: limit + 1], limit, lambda w: [w.worker_key], "workers", shown=lambda w: shown(w, found[1])
        ),
    )  # fmt: skip


@router.get("/workers/{worker_euid}", operation_id="get_worker", summary="One worker", response_model=WorkerShown)
async def get_worker(
    worker: Annotated[WorkerEuid, Path(alias="worker_euid")], identity: Observer, gateway: GatewayOf
) -> Answer:
    """What it says of itself, its status and its heartbeat; also of one that is retired."""
    return await answered(gateway, identity, lambda caller: _worker(caller, worker), shown=lambda found: shown(*found))
