"""Schedules: what starts by itself, and when (design 02, API)."""

from __future__ import annotations

from fastapi import APIRouter

from tenure.api.answers import Answer, answered
from tenure.api.authentication import Admin, GatewayOf, Observer
from tenure.api.body import JsonRoute
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.page import Page
from tenure.api.schemas.run import ScheduleShown
from tenure.api.schemas.steering import DefineScheduleBody, ScheduleBody
from tenure.flow.engine import schedules
from tenure.sdk import runs as ops
from tenure.sdk.public_form import public

router = APIRouter(tags=["runs"], route_class=JsonRoute)


@router.get("/schedules", operation_id="list_schedules", summary="All schedules", response_model=Page[ScheduleShown])
async def list_schedules(identity: Observer, gateway: GatewayOf) -> Answer:
    """By name. There are few: they come on one page."""
    return await answered(
        gateway, identity, ops.schedules_all, shown=lambda rows: {"items": public(rows), "next": None}
    )


@router.post("/actions/define-schedule", operation_id="define_schedule", summary="Define or change a schedule",
             response_model=ScheduleShown)  # fmt: skip
async def define_schedule(
    body: DefineScheduleBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It starts a run of a workflow, or puts a subject before a queue, exactly once for each due time."""
    body.keyed(idempotency_key)
    return await answered(gateway, identity, lambda caller: schedules.define_schedule(caller, body.schedule))


@router.post("/actions/pause-schedule", operation_id="pause_schedule", summary="Let a schedule rest",
             response_model=ScheduleShown)  # fmt: skip
async def pause_schedule(
    body: ScheduleBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """It starts nothing until it is resumed."""
    body.keyed(idempotency_key)
    return await answered(gateway, identity, lambda caller: ops.pause_schedule(caller, body.name, reason=body.reason))


@router.post("/actions/resume-schedule", operation_id="resume_schedule", summary="Let a schedule go on",
             response_model=ScheduleShown)  # fmt: skip
async def resume_schedule(
    body: ScheduleBody, identity: Admin, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """From now on; what fell due while it rested is not made good."""
    body.keyed(idempotency_key)
    return await answered(gateway, identity, lambda caller: ops.resume_schedule(caller, body.name, reason=body.reason))
