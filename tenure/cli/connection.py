"""Which database a call means, described for people: the one of its DSN, or the embedded one."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tenure.embedded import default_cluster
from tenure.embedded.status import State
from tenure.model.errors import StoreUnavailable
from tenure.sdk.session import KEEPALIVES


@dataclass(frozen=True, slots=True)
class Database:
    """A database that answers. ``public_dsn`` shows no password."""

    dsn: str
    public_dsn: str
    embedded: bool
    server: str
    data: str | None = None
    note: str = ""


def database(dsn: str | None, *, start: bool) -> Database:
    """The database behind a DSN, or the embedded one; started on request. Raises StoreUnavailable."""
    if dsn:
        return Database(dsn, without_password(dsn), embedded=False, server=_version(dsn))
    cluster = default_cluster()
    if start:
        cluster.start()
    standing = cluster.status()
    if standing.state is not State.RUNNING or standing.dsn is None:
        raise StoreUnavailable(f"The embedded PostgreSQL is {standing.state}.", "Start it: tenure up.")
    return Database(
        standing.dsn,
        standing.dsn,
        embedded=True,
        server=_version(standing.dsn),
        data=str(standing.pgdata),
        note=standing.note,
    )


def without_password(dsn: str) -> str:
    """The DSN with its password hidden."""
    values = conninfo_to_dict(dsn)
    if not values.get("password"):
        return dsn
    return make_conninfo("", **(values | {"password": "***"}))  # nosec B105


def _version(dsn: str) -> str:
    try:
        with psycopg.connect(dsn, autocommit=True, **KEEPALIVES) as connection:
            row = connection.execute("show server_version").fetchone()
    except psycopg.OperationalError as error:
        raise StoreUnavailable(
            f"The database could not be reached: {str(error).strip()}",
            "Check --dsn or TENURE_DSN and that the server runs; without one Tenure starts its own (tenure up).",
        ) from error
    return str(row[0]).split()[0] if row else "?"
