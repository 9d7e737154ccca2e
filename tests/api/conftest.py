"""A real server on a free port over a fresh database, whose answers are all checked against its OpenAPI document."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import psycopg
import pytest
import uvicorn

from tenure.api.application import create_application, stop_waiting
from tenure.api.settings import ServerSettings
from tenure.sdk.client import Tenure
from tenure.testing.clock import MovableClock
from tests.api.documented import Documented
from tests.databases import fresh_database

_numbers = itertools.count(1)


class Running:
    """A server that runs in a thread of this process."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.application = create_application(settings)
        config = uvicorn.Config(self.application, port=0, log_level="warning", timeout_graceful_shutdown=5)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def start(self) -> None:
        self._thread.start()
        deadline = time.monotonic() + 20
        while not self._server.started:
            assert self._thread.is_alive() and time.monotonic() < deadline, "the server did not start"
            time.sleep(0.01)

    @property
    def url(self) -> str:
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    def stop(self) -> None:
        stop_waiting(self.application)
        self._server.should_exit = True
        self._thread.join(15)
        assert not self._thread.is_alive(), "the server did not stop"


@contextmanager
def running(settings: ServerSettings) -> Iterator[Running]:
    server = Running(settings)
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def api_database(admin: psycopg.Connection, pg_server: str, migrated_template: str) -> Iterator[str]:
    """One database for all API tests: each has a tenant of its own."""
    yield from fresh_database(admin, pg_server, migrated_template)


@pytest.fixture(scope="session")
def clock() -> MovableClock:
    """The time of the shared server and of those who act beside it. Tests only ever move it forward."""
    return MovableClock()


@pytest.fixture(scope="session")
def server(api_database: str, clock: MovableClock) -> Iterator[Running]:
    """The server that most tests share."""
    settings = ServerSettings(
        dsn=api_database, clock=clock, rate_per_second=100_000, rate_burst=100_000, anonymous_burst=100_000,
        heartbeat_seconds=0.2, metrics_age_seconds=0, ui=False,
    )  # fmt: skip
    with running(settings) as made:
        yield made


class Site:
    """One tenant on a server: a trusted client beside it, and HTTP clients by role."""

    def __init__(self, server: Running, tenant: str) -> None:
        self.server = server
        self.tenant = tenant
        self.trusted = Tenure(
            server.settings.dsn, tenant=tenant, create_tenant=True, actor="user:root", clock=server.settings.clock
        )
        self._clients: dict[Any, Documented] = {}

    def secret(self, *roles: str, name: str | None = None) -> str:
        """A fresh access token of a principal with these roles."""
        who = name or f"service:{'-'.join(roles) or 'nobody'}"
        self.trusted.create_principal(who, roles=roles)
        return str(self.trusted.create_token(who).secret.reveal())

    def as_(self, *roles: str, name: str | None = None) -> Documented:
        """An HTTP client of a principal with these roles."""
        key = (roles, name)
        if key not in self._clients:
            self._clients[key] = Documented(self.server, self.secret(*roles, name=name))
        return self._clients[key]

    @property
    def anonymous(self) -> Documented:
        """An HTTP client that does not say who asks."""
        if None not in self._clients:
            self._clients[None] = Documented(self.server, None)
        return self._clients[None]

    @property
    def admin(self) -> Documented:
        return self.as_("admin")

    @property
    def worker(self) -> Documented:
        return self.as_("worker_service")

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self.trusted.close()


@pytest.fixture
def site(server: Running) -> Iterator[Site]:
    """A tenant of its own, with the queue ``q``."""
    made = Site(server, f"site{next(_numbers)}")
    made.trusted.define_queue("q")
    yield made
    made.close()


@pytest.fixture
def make_server() -> Iterator[Callable[[ServerSettings], Running]]:
    """Starts servers of a test's own, and stops them after it."""
    made: list[Running] = []

    def make(settings: ServerSettings) -> Running:
        server = Running(settings)
        server.start()
        made.append(server)
        return server

    yield make
    for server in made:
        server.stop()


__all__ = ["Running", "Site", "httpx"]
