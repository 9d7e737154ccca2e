"""Looks whether a tenant is there, and somebody in it, without making it: a client makes its tenant on first use."""

from __future__ import annotations

import psycopg

from tenure.model.errors import StoreUnavailable
from tenure.sdk.session import KEEPALIVES
from tenure.store.operation import Op
from tenure.store.postgres.runner import run
from tenure.store.postgres.store import PostgresStore


def tenant_exists(dsn: str, key: str) -> bool:
    """True where the database has a tenant of that key. Raises StoreUnavailable."""
    return _asked(dsn, _tenant(key))


def anybody(dsn: str, key: str) -> bool:
    """True where the tenant has a principal, so that somebody can ask a server. Raises StoreUnavailable."""
    return _asked(dsn, _principal(key))


def _tenant(key: str) -> Op[bool]:
    return (yield from PostgresStore().tenant(key, create=False, actor="")) is not None


def _principal(key: str) -> Op[bool]:
    store = PostgresStore()
    tenant = yield from store.tenant(key, create=False, actor="")
    return tenant is not None and bool((yield from store.principals(tenant, 1)))


def _asked(dsn: str, question: Op[bool]) -> bool:
    try:
        connection = psycopg.connect(dsn, autocommit=True, **KEEPALIVES)
    except psycopg.OperationalError as error:
        raise StoreUnavailable(
            f"The database cannot be reached: {str(error).strip()}",
            "See that the server runs and that the DSN is right.",
        ) from error
    with connection:
        return run(connection, question)
