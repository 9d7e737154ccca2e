"""Workers in the test's own loop, and what tests wait for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import psycopg
import pytest

from tenure import Tenure, Worker
from tenure.sdk.http.address import Address
from tenure.store.postgres.migrate import migrate
from tenure.testing import drain
from tests.worker.serving import address_for, serving


class App(Tenure):
    """A client that is connected to the database; its workers reach it through a server where there is an address."""

    worker_address: Address | None = None


@pytest.fixture
def transport() -> str:
    """How workers reach their work. Modules that test both have a fixture of the same name with both."""
    return "database"


@contextmanager
def reached_by(app: App, transport: str) -> Iterator[App]:
    """The client, with a server beside it for workers that reach it over HTTP."""
    if transport == "database":
        yield app
        return
    with serving(app) as server:
        app.worker_address = address_for(app, server)
        yield app


@pytest.fixture
def app(migrated_database: str, transport: str) -> Iterator[App]:
    """A client with the queue ``q``, whose failures are tried again at once."""
    with App(migrated_database, actor="user:ada") as app:
        app.define_queue("q", retry_policy={"initial_delay_seconds": 0})
        with reached_by(app, transport):
            yield app


def drained(app: App, **options: Any) -> Mapping[str, int]:
    """What a worker did until nothing was left to do now."""
    return drain(app, address=app.worker_address, **options)


@asynccontextmanager
async def working(app: Tenure, **options: Any) -> AsyncIterator[Worker]:
    """A worker at work while the block lasts; then it is stopped gracefully."""
    worker = Worker(
        app, **({"address": getattr(app, "worker_address", None), "queues": ["q"], "sweep_interval": 0.2} | options)
    )
    serving = asyncio.create_task(worker.serve())
    started = asyncio.create_task(worker.ready.wait())
    await asyncio.wait({serving, started}, return_when=asyncio.FIRST_COMPLETED, timeout=20)
    started.cancel()
    try:
        yield worker
    finally:
        worker.stop()
        await asyncio.wait_for(serving, 30)


def state(app: Tenure, subject: Any) -> str:
    return str(app.inspect(subject).situation.thread.envelope.state)


def states(app: Tenure) -> dict[str, int]:
    """How many subjects are in which state."""
    with psycopg.connect(app.settings.dsn) as connection:
        return dict(connection.execute("select state::text, count(*) from tenure.execution group by 1").fetchall())


def fact_types(app: Tenure, subject: Any) -> list[str]:
    return [fact.type for fact in app.facts(subject)]


def backends(app: Tenure, application: str = "tenure") -> list[int]:
    """The server's processes that serve Tenure's own connections to this database."""
    with psycopg.connect(app.settings.dsn) as connection:
        query = "select pid from pg_stat_activity where datname = current_database() and application_name = %s"
        return [pid for (pid,) in connection.execute(query, [application]).fetchall()]


@pytest.fixture
def tcp_app(make_cluster, unused_tcp_port):
    cluster = make_cluster(listen="127.0.0.1", port=unused_tcp_port)
    dsn = cluster.start()
    migrate(dsn)
    with Tenure(dsn) as app:
        app.define_queue("q")
        yield app
