"""Who may read /metrics: whoever may read; or, where the settings say so, anybody, with the numbers of one tenant."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated

import psycopg
from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials

from tenure.api.authentication import _bearer, _cookie, identity_of
from tenure.api.settings import ServerSettings
from tenure.model.errors import NotFound, StoreUnavailable
from tenure.model.principal import Identity, Principal
from tenure.model.roles import Permission, Role
from tenure.sdk.session import KEEPALIVES
from tenure.store.postgres.runner import run
from tenure.store.postgres.store import PostgresStore


async def metrics_reader(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)],
    cookie: Annotated[str | None, Security(_cookie)],
) -> Identity:
    """The identity for which metrics are read. Raises Unauthenticated or Forbidden."""
    settings: ServerSettings = request.app.state.settings
    if settings.open_metrics and bearer is None and not cookie:
        return await _anybody(request, settings)
    identity = await identity_of(request, bearer, cookie)
    identity.demand(Permission.READ)
    return identity


async def _anybody(request: Request, settings: ServerSettings) -> Identity:
    known: Identity | None = getattr(request.app.state, "anybody", None)
    if known is None:
        tenant = await asyncio.to_thread(_tenant, settings.dsn, settings.tenant)
        if tenant is None:
            raise NotFound(f"There is no tenant {settings.tenant!r} yet.", "Define its first queue.")
        scraper = Principal(uid=0, tenant=tenant, name="service:metrics", created_at=datetime.now(UTC))
        known = request.app.state.anybody = Identity(scraper, settings.tenant, frozenset({Role.OBSERVER}))
    return known


def _tenant(dsn: str, key: str) -> int | None:
    try:
        with psycopg.connect(dsn, autocommit=True, **KEEPALIVES) as connection:
            return run(connection, PostgresStore().tenant(key, create=False, actor=""), prepare=False)
    except psycopg.OperationalError as error:
        raise StoreUnavailable(f"The database cannot be reached: {str(error).strip()}", "See that it runs.") from error


MetricsReader = Annotated[Identity, Depends(metrics_reader)]
