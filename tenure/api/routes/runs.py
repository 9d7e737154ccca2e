"""Runs of workflows: start, list, look at (design 02, API)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from tenure.api import cursor
from tenure.api.answers import Answer, answered
from tenure.api.authentication import GatewayOf, Observer, Submitter
from tenure.api.body import JsonRoute
from tenure.api.schemas.fields import RunEuid, SubjectEuid, Time
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.page import CursorParameter, Limit, Page, page
from tenure.api.schemas.run import Graph, Moment, RunAsOf, RunReasons, RunResult, RunShown, RunSnapshot
from tenure.api.schemas.steering import StartRunBody
from tenure.flow.model.names import WorkflowName
from tenure.flow.model.state import RunStatus
from tenure.model import euid
from tenure.model.requests import ShortText
from tenure.model.visibility import Reason
from tenure.sdk import runs as ops
from tenure.sdk.public_form import public

router = APIRouter(tags=["runs"], route_class=JsonRoute)
Run = Annotated[RunEuid, Path(alias="run_euid")]
_PICTURES = {"mermaid": "text/plain; charset=utf-8", "svg": "image/svg+xml"}


@router.post("/runs", operation_id="start_run", summary="Start a run", status_code=201, response_model=RunResult,
             responses={200: {"model": RunResult, "description": "The run was there already."}})  # fmt: skip
async def start_run(
    body: StartRunBody, identity: Submitter, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> Answer:
    """The same key is the same run; without one, the Idempotency-Key is the key. Another input is `run_key_conflict`."""
    key = body.key if body.key is not None else body.keyed(idempotency_key)
    result = await gateway.perform(
        identity,
        lambda caller: ops.start_run(
            caller, body.workflow, body.input, key=key, version=body.version, root=body.root_euid,
            correlation_id=body.correlation_id,
        ),
    )  # fmt: skip
    return Answer(public(result), 200 if result.replayed else 201)


@router.get("/runs", operation_id="list_runs", summary="Runs, newest first", response_model=Page[RunShown])
async def list_runs(
    identity: Observer, gateway: GatewayOf,
    workflow: Annotated[WorkflowName | None, Query(description="Of this workflow.", examples=["order"])] = None,
    status: Annotated[RunStatus | None, Query(description="In this status.", examples=["PAUSED"])] = None,
    key: Annotated[ShortText | None, Query(description="Under this run key.")] = None,
    root: Annotated[SubjectEuid | None, Query(description="About this subject.")] = None,
    since: Annotated[Time | None, Query(description="Started then or later.")] = None,
    until: Annotated[Time | None, Query(description="Started before.")] = None,
    waiting: Annotated[bool, Query(description="Only those that stand at an approval or a pause.")] = False,
    before: Annotated[RunEuid | None, Query(description="Only those older than this run; the cursor says it, too.")] = None,
    limit: Limit = 50, cursor_: CursorParameter = None,
) -> Answer:  # fmt: skip
    """Filtered by what is given, all of it."""
    bound = ("runs", workflow, status, key, root, since, until, waiting)
    older = int(cursor.opened(cursor_, *bound)[0]) if cursor_ else before
    return await answered(
        gateway, identity,
        lambda caller: ops.runs(
            caller, workflow, status=status, key=key, root=root, since=since, until=until, limit=limit + 1, before=older,
            waiting=waiting,
        ),
        shown=lambda rows: page(rows, limit, lambda row: [row.uid], *bound),
    )  # fmt: skip


@router.get("/runs/{run_euid}", operation_id="get_run", summary="A run as it stands", response_model=RunSnapshot)
async def get_run(
    run: Run, identity: Observer, gateway: GatewayOf,
    items: Annotated[int, Query(ge=1, le=10_000, description="So many items of each map, what is in trouble first.")] = 200,
) -> Answer:  # fmt: skip
    """Its steps and the subjects that stand for them, the boundary at which it stands, its children, its anomalies."""
    return await answered(gateway, identity, lambda caller: ops.inspect_run(caller, run, items=items))


@router.get(
    "/runs/{run_euid}/why", operation_id="explain_run", summary="Why a run does not move", response_model=RunReasons
)
async def explain_run(run: Run, identity: Observer, gateway: GatewayOf) -> Answer:
    """Every reason, with evidence and what can be done; what keeps its subjects is told as `why` of a subject tells it."""

    def shown(reasons: Sequence[Reason]) -> dict[str, Any]:
        return {"run": euid.format_euid(euid.RUN, run), "reasons": public(reasons)}

    return await answered(gateway, identity, lambda caller: ops.explain_run(caller, run), shown=shown)


@router.get("/runs/{run_euid}/graph", operation_id="get_run_graph", summary="A run as a graph", response_model=Graph,
            responses={200: {"content": {
                "text/plain": {"schema": {"type": "string"}, "example": "flowchart TD\n  reserve[reserve]"},
                "image/svg+xml": {"schema": {"type": "string"}, "example": "<svg xmlns='http://www.w3.org/2000/svg'/>"},
            }}})  # fmt: skip
async def get_run_graph(
    run: Run, identity: Observer, gateway: GatewayOf,
    form: Annotated[Literal["json", "mermaid", "svg"], Query(description="As data, as text, or as a picture.")] = "json",
) -> Response:  # fmt: skip
    """Steps with their states, and what led from one to the next."""
    graph = await gateway.perform(identity, lambda caller: ops.run_graph(caller, run))
    return Answer(public(graph)) if form == "json" else Response(ops.drawn(graph, form), media_type=_PICTURES[form])


@router.get("/runs/{run_euid}/timeline", operation_id="get_run_timeline", summary="What happened to a run",
            response_model=Page[Moment])  # fmt: skip
async def get_run_timeline(
    run: Run, identity: Observer, gateway: GatewayOf,
    after_seq: Annotated[int, Query(ge=0, lt=2**31, description="Those behind this fact; the cursor says it, too.")] = 0,
    limit: Limit = 100, cursor_: CursorParameter = None,
) -> Answer:  # fmt: skip
    """Its facts in order, each in a sentence."""
    after = int(cursor.opened(cursor_, "timeline", run)[0]) if cursor_ else after_seq
    return await answered(
        gateway, identity, lambda caller: ops.run_timeline(caller, run, after_seq=after, limit=limit + 1),
        shown=lambda moments: page(moments, limit, lambda moment: [moment.seq], "timeline", run),
    )  # fmt: skip


@router.get("/runs/{run_euid}/as-of", operation_id="get_run_as_of", summary="A run as it was", response_model=RunAsOf)
async def get_run_as_of(
    run: Run, identity: Observer, gateway: GatewayOf,
    seq: Annotated[int | None, Query(ge=1, lt=2**31, description="After this many facts.", examples=[1])] = None,
    at: Annotated[Time | None, Query(description="At this time. Give either seq or at.")] = None,
) -> Answer:  # fmt: skip
    """The fold of its facts up to then."""
    return await answered(gateway, identity, lambda caller: ops.run_as_of(caller, run, seq=seq, at=at))
