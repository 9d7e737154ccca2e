"""A server beside a worker's test, and what a worker needs to reach it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tenure import Tenure
from tenure.api.settings import ServerSettings
from tenure.sdk.http.address import Address
from tests.api.conftest import Running, running

PLENTY = {"rate_per_second": 1e6, "rate_burst": 1_000_000, "ui": False}


@contextmanager
def serving(app: Tenure, **settings: Any) -> Iterator[Running]:
    """A server over the database of the client while the block lasts."""
    given = app.settings
    with running(ServerSettings(**({"dsn": given.dsn, "clock": given.clock, **PLENTY} | settings))) as server:
        yield server


def token_of(app: Tenure, name: str = "service:remote", *roles: str) -> str:
    """A fresh access token of a principal that works."""
    app.create_principal(name, roles=roles or ("worker_service",))
    return str(app.create_token(name).secret.reveal())


def address_for(app: Tenure, server: Running, name: str = "service:remote") -> Address:
    """Where a worker of the client's tenant finds the server."""
    return Address(server.url, token_of(app, name))


def secret_of(address: Address) -> str:
    """The token of an address."""
    return address.authorization.removeprefix("Bearer ")
