"""The application: routes, errors and what goes on between requests of a server put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI

from tenure import __version__
from tenure.api import identity, openapi, problem
from tenure.api.body_limit import BodyLimit
from tenure.api.gateway import Gateway
from tenure.api.live.collecting import Collecting
from tenure.api.live.following import Following
from tenure.api.live.waiting import Waiting
from tenure.api.relaying import Relaying
from tenure.api.routes import (
    bulk,
    leases,
    ledger,
    queues,
    remote_events,
    remote_nodes,
    remote_submissions,
    retention,
    runs,
    schedules,
    server,
    subjects,
    subscriptions,
    templates,
    triage,
    workers,
    workflows,
)
from tenure.api.routes.actions import batch, claim, coding, holding, operating, registry, steering
from tenure.api.routes.actions import workers as worker_actions
from tenure.api.runtime_metrics import PREFIX, MeasureRequests, RuntimeMetrics
from tenure.api.scraping import Scraping
from tenure.api.settings import ServerSettings
from tenure.api.sweeping import Sweeping
from tenure.api.telling import TellRequests

_ROUTERS = (
    queues.router, subjects.router, bulk.router, templates.router, claim.router, batch.router, holding.router, operating.router,
    worker_actions.router, registry.router, workers.router, leases.router, triage.router, ledger.router,
    workflows.router, runs.router, steering.router, coding.router, schedules.router,
)  # fmt: skip

# Put together once for a process: FastAPI works each route out when it is first asked for.
_KERNEL = APIRouter()
for _router in (
    remote_nodes.router,
    remote_submissions.router,
    remote_events.router,
    subscriptions.router,
    retention.router,
):
    _KERNEL.include_router(_router)
for _router in _ROUTERS:
    _KERNEL.include_router(_router, prefix=PREFIX)
_KERNEL.include_router(server.router)


def create_application(settings: ServerSettings) -> FastAPI:
    """The server as an ASGI application (design 06, HTTP API). The database must be migrated.

    Whoever runs it calls ``stop_waiting`` when it is to stop, so that long polls and streams end.
    """
    gateway = Gateway(settings.dsn, max_connections=settings.max_connections, clock=settings.clock)
    waiting = Waiting(gateway, settings.listen_dsn or settings.dsn)
    following = Following(gateway)
    runtime = RuntimeMetrics(lambda: _gauges(gateway, waiting, following))
    relaying = Relaying(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await gateway.open()
        for part in (waiting, following, runtime, relaying):
            part.open()
        try:
            yield
        finally:
            for part in (relaying, waiting, following, runtime):
                await part.close()
            await gateway.close()

    application = FastAPI(
        title="Tenure", version=__version__, lifespan=lifespan, docs_url="/docs", redoc_url=None,
        description="Runs work that must be provable: one queue for services, people, instruments and clusters.",
        # Its own spans and logs would carry addresses as they were asked, and the messages of exceptions.
        telemetry={"tracing": False, "logs": False},
    )  # fmt: skip
    application.state.settings = settings
    application.state.gateway = gateway
    application.state.waiting = waiting
    application.state.following = following
    application.state.relaying = relaying
    application.state.runtime_metrics = runtime
    application.state.scraping = Scraping(gateway, settings.metrics_age_seconds)
    application.state.sweeping = Sweeping(gateway)
    application.state.collecting = Collecting(gateway)
    problem.install(application)
    openapi.install(application)
    application.add_middleware(BodyLimit, most=settings.max_body_bytes)
    application.add_middleware(MeasureRequests, metrics=runtime)
    application.add_middleware(TellRequests)
    application.router.routes.extend(_KERNEL.routes)
    identity.install(application, settings)
    return application


def stop_waiting(application: FastAPI) -> None:
    """Let everybody who waits for work or follows the ledger go home: the server is about to stop."""
    application.state.waiting.stop()
    application.state.following.stop()
    application.state.relaying.stop()


def _gauges(gateway: Gateway, waiting: Waiting, following: Following) -> dict[str, tuple[str, float]]:
    use = gateway.use()
    return {
        "tenure_database_connections": ("Connections to the database.", use.get("pool_size", 0)),
        "tenure_database_connections_idle": ("Of these, those that nobody uses.", use.get("pool_available", 0)),
        "tenure_database_requests_waiting": ("Requests that wait for one.", use.get("requests_waiting", 0)),
        "tenure_long_polls": ("Requests that wait for work.", len(waiting.lines)),
        "tenure_event_streams": ("Streams of events that are open.", following.listeners),
    }
