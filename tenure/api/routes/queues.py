"""Queues: their policy, their sixteen numbers, and what is visible in them (S1 section 9.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from tenure.api import cursor
from tenure.api.answers import Answer, answered
from tenure.api.authentication import GatewayOf, Observer
from tenure.api.body import JsonRoute
from tenure.api.schemas.fields import Time
from tenure.api.schemas.page import CursorParameter, Limit, Page, page, part
from tenure.api.schemas.queue import QueueDetail, QueueSamples, QueueSummary
from tenure.api.schemas.subject import Item
from tenure.engine.caller import Caller
from tenure.model.errors import QueueUnknown
from tenure.model.ordering import order_key
from tenure.model.queue import Key, Queue, Tag
from tenure.model.states import State
from tenure.sdk import operations as ops
from tenure.sdk.public_form import public
from tenure.store.operation import Op
from tenure.store.records import Item as VisibleItem
from tenure.store.records import QueueCounts, QueueSample

router = APIRouter(tags=["queues"], route_class=JsonRoute)

QueueKey = Annotated[Key, Path(description="The key of a queue.", examples=["extraction"])]
Window = Annotated[
    float, Query(ge=1, le=86400, description="Over how many seconds throughput and failure rate are taken.")
]
_SUMMARY = (
    "queue_key", "display_name", "enabled", "manual_only", "operator_visible", "dispatch_priority", "disabled_reason",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Counted:
    queue: Queue
    counts: QueueCounts


def _summaries(caller: Caller, limit: int, after: tuple[int, str] | None, window: float) -> Op[list[_Counted]]:
    found = [q for q in (yield from ops.queues_all(caller)) if after is None or _place(q) > after]
    chosen = found[: limit + 1]
    counted = yield from ops.metrics(caller, [q.queue_key for q in chosen[:limit]], window_seconds=window)
    counts = {each.queue_key: each for each in counted}
    return [_Counted(q, counts.get(q.queue_key, QueueCounts(q.queue_key))) for q in chosen]


def _place(queue: Queue) -> tuple[int, str]:
    return (-queue.dispatch_priority, queue.queue_key)


def _summary(counted: _Counted) -> dict[str, Any]:
    whole = public(counted.queue)
    return {"euid": whole["euid"], **{name: whole[name] for name in _SUMMARY}, "metrics": public(counted.counts)}


@router.get("/queues", operation_id="list_queues", summary="All queues with their numbers",
            response_model=Page[QueueSummary])  # fmt: skip
async def list_queues(
    identity: Observer,
    gateway: GatewayOf,
    limit: Limit = 50,
    cursor_: CursorParameter = None,
    window_seconds: Window = 300,
) -> Answer:
    """Active queues, the most urgent first, each with its sixteen metrics (S1 section 9.1)."""
    after = cursor.opened(cursor_, "queues") if cursor_ else None
    place = (int(after[0]), str(after[1])) if after else None
    return await answered(
        gateway, identity, lambda caller: _summaries(caller, limit, place, window_seconds),
        shown=lambda found: page(found, limit, lambda each: _place(each.queue), "queues", shown=_summary),
    )  # fmt: skip


@router.get("/queues/{queue_key:path}/items", operation_id="list_queue_items", summary="What is visible in a queue",
            response_model=Page[Item])  # fmt: skip
async def list_queue_items(
    queue_key: QueueKey, identity: Observer, gateway: GatewayOf,
    site: Annotated[Tag | None, Query(description="Of this site only.")] = None,
    platform: Annotated[Tag | None, Query(description="Of this platform only.")] = None,
    assay: Annotated[Tag | None, Query(description="Of this assay only.")] = None,
    states: Annotated[list[State] | None, Query(alias="state", description="Of these states only; repeat it.")] = None,
    limit: Limit = 50, cursor_: CursorParameter = None,
) -> Answer:  # fmt: skip
    """Visible subjects in execution order, with the fields that order them.

    With filters a page may be short, even empty, and not the last: go on until `next` is null.
    """
    bound = ("items", queue_key, site, platform, assay, states)
    after = cursor.order_key(cursor.opened(cursor_, *bound)) if cursor_ else None

    def found(caller: Caller) -> Op[dict[str, Any]]:
        yield from _known(caller, queue_key)
        if any((site, platform, assay, states)):
            chosen = yield from ops.chosen_items(
                caller, queue_key, site=site, platform=platform, assay=assay, states=states, limit=limit, after=after
            )  # fmt: skip
            place = cursor.order_place(chosen.next_after) if chosen.next_after is not None else None
            return part(chosen.items, place, *bound)
        items = yield from ops.queue_items(caller, queue_key, limit=limit + 1, after=after)
        return page(items, limit, _item_place, *bound)

    return await answered(gateway, identity, found, shown=lambda shown: shown)


def _item_place(item: VisibleItem) -> list[Any]:
    return cursor.order_place(order_key(item.envelope, item.eligible_at))


@router.get("/queues/{queue_key:path}/samples", operation_id="list_queue_samples", summary="How a queue went over time",
            response_model=QueueSamples)  # fmt: skip
async def list_queue_samples(
    queue_key: QueueKey, identity: Observer, gateway: GatewayOf,
    since: Annotated[Time, Query(description="From then on; samples are kept for 7 days.",
                                          examples=["2026-03-01T00:00:00Z"])],
    limit: Annotated[int, Query(ge=1, le=2000, description="How many at most; thinned evenly where there are more.")] = 500,
) -> Answer:  # fmt: skip
    """Its sixteen metrics as they were, in order of time."""

    def found(caller: Caller) -> Op[list[QueueSample]]:
        yield from _known(caller, queue_key)
        return (yield from ops.queue_samples(caller, queue_key, since=since, limit=limit))

    return await answered(gateway, identity, found, shown=lambda samples: {"samples": public(samples)})


@router.get("/queues/{queue_key:path}", operation_id="get_queue", summary="A queue's configuration and numbers",
            response_model=QueueDetail)  # fmt: skip
async def get_queue(
    queue_key: QueueKey, identity: Observer, gateway: GatewayOf, window_seconds: Window = 300
) -> Answer:
    """The policy of a queue, and its sixteen metrics."""

    def found(caller: Caller) -> Op[dict[str, Any]]:
        queue = yield from _known(caller, queue_key)
        counts = yield from ops.metrics(caller, [queue_key], window_seconds=window_seconds)
        return {"queue": queue, "metrics": counts[0]}

    return await answered(gateway, identity, found)


def _known(caller: Caller, queue_key: str) -> Op[Queue]:
    queue = yield from ops.queue(caller, queue_key)
    if queue is None or queue.retired_at is not None:
        raise QueueUnknown(
            f"There is no queue {queue_key!r}.", "Define it first, or correct the key.", queue_key=queue_key
        )
    return queue
