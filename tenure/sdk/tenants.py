"""Looks whether a tenant is there, without making it: a client makes its tenant on first use."""

from __future__ import annotations

import psycopg

from tenure.model.errors import StoreUnavailable
from tenure.sdk.session import KEEPALIVES
from tenure.store.postgres.runner import run
from tenure.store.postgres.store import PostgresStore


def tenant_exists(dsn: str, key: str) -> bool:
    """True where the database has a tenant of that key. Raises StoreUnavailable."""
    try:
        connection = psycopg.connect(dsn, autocommit=True, **KEEPALIVES)
    except psycopg.OperationalError as error:
        raise StoreUnavailable(
            f"The database cannot be reached: {str(error).strip()}",
            "See that the server runs and that the DSN is right.",
        ) from error
    with connection:
        return run(connection, PostgresStore().tenant(key, create=False, actor="")) is not None
