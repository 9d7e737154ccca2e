"""The application: routes, errors and the connections of a server put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from tenure import __version__
from tenure.api import problem
from tenure.api.gateway import Gateway
from tenure.api.routes import queues
from tenure.api.settings import ServerSettings

PREFIX = "/api/v1/execution"


def create_application(settings: ServerSettings) -> FastAPI:
    """The server as an ASGI application (design 06, HTTP API). The database must be migrated."""
    gateway = Gateway(settings.dsn, max_connections=settings.max_connections, clock=settings.clock)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await gateway.open()
        try:
            yield
        finally:
            await gateway.close()

    application = FastAPI(
        title="Tenure", version=__version__, lifespan=lifespan, docs_url="/docs", redoc_url=None,
        description="Runs work that must be provable: one queue for services, people, instruments and clusters.",
    )  # fmt: skip
    application.state.settings = settings
    application.state.gateway = gateway
    problem.install(application)
    for router in (queues.router,):
        application.include_router(router, prefix=PREFIX)
    return application
