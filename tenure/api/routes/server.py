"""The server itself: health and metrics (design 06, HTTP API; S1 section 9.1)."""

from __future__ import annotations

import asyncio
from typing import Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, Field

from tenure import __version__
from tenure.api.answers import Answer
from tenure.api.authentication import GatewayOf
from tenure.api.metrics_reader import MetricsReader
from tenure.api.queue_metrics import exposed
from tenure.api.runtime_metrics import RuntimeMetrics
from tenure.api.scraping import Scraping
from tenure.api.subscription_metrics import told
from tenure.ledger.subscriptions import subscriptions
from tenure.model.errors import StoreUnavailable, TenureError
from tenure.store.postgres.migrate import pending

router = APIRouter(tags=["server"])

_PATIENCE = 3
_METRICS = """\
# HELP queue_depth Subjects visible in the queue.
# TYPE queue_depth gauge
queue_depth{queue_key="extraction",tenant="default"} 12.0
"""


class Alive(BaseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"
    version: str = Field(examples=["0.1.0"])


class NotReady(StoreUnavailable):
    """The server cannot serve: its database is away, or not migrated."""

    code = "not_ready"


@router.get("/health/live", operation_id="live", summary="Whether the process is alive", response_model=Alive)
async def live() -> Answer:
    """Looks at nothing but the process: restart it when this does not answer."""
    return Answer({"status": "ok", "version": __version__})


@router.get("/health/ready", operation_id="ready", summary="Whether the server can serve", response_model=Alive,
            responses={503: {"description": "It cannot: the database is away, or not migrated."}})  # fmt: skip
async def ready(gateway: GatewayOf) -> Answer:
    """Looks whether the database answers and has this version's schema: send no requests while this says 503."""
    try:
        async with asyncio.timeout(_PATIENCE):
            await gateway.perform_unbound(lambda store: store.clock())
            todo = await asyncio.to_thread(pending, gateway.dsn)
    except TimeoutError as error:
        raise NotReady(f"The database did not answer within {_PATIENCE} s.", "See that it runs.") from error
    except TenureError as error:
        raise NotReady(error.message, error.hint) from error
    if todo:
        raise NotReady(f"{len(todo)} migrations are to be applied.", "Run `tenure migrate` on the database.")
    return Answer({"status": "ok", "version": __version__})


@router.get(
    "/metrics", operation_id="metrics", summary="Metrics for Prometheus", response_class=Response,
    responses={200: {"description": "Prometheus' text format: the sixteen metrics of each queue, and those of the server.",
                     "content": {"text/plain": {"schema": {"type": "string"}, "example": _METRICS}}},
               404: {"description": "It is open to anybody, and its tenant is not there yet."}},
)  # fmt: skip
async def metrics(request: Request, identity: MetricsReader, gateway: GatewayOf) -> Response:
    """The sixteen metrics of each queue of the tenant (S1 section 9.1), exact; and requests, connections, event loop and process.

    The numbers of queues are a second old at most: who scrapes at the same time shares one count.
    """
    runtime: RuntimeMetrics = request.app.state.runtime_metrics
    scraping: Scraping = request.app.state.scraping
    counts = await scraping.counts(identity)
    standings = await gateway.perform(identity, subscriptions)
    body = exposed(identity.tenant_key, counts) + told(identity.tenant_key, standings)
    body += generate_latest(runtime.registry)
    return Response(body, media_type=CONTENT_TYPE_LATEST)
