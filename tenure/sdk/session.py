"""What Tenure sets on connections of its own, and how it tells a pooler from a server."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import psycopg
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool, ConnectionPool
from pydantic_core import from_json

from tenure.model.errors import StoreUnavailable
from tenure.store.postgres.own_connection import OwnAsyncConnection, OwnConnection, Session, in_doubt

#: Every hot statement is key look-ups; these settings keep any other plan away, whatever the statistics say.
_PLANNER = (
    "set enable_hashjoin = off; set enable_mergejoin = off; set enable_seqscan = off; set jit = off; "
    "set plan_cache_mode = force_generic_plan; set application_name = 'tenure'"
)

#: A peer that is gone is noticed within seconds, not after the two hours of TCP's defaults.
KEEPALIVES: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
    "connect_timeout": 10,
}


def opened(connection: OwnConnection) -> Session:
    """Set up a fresh autocommit connection. A pooler hands out process ids of its own, which gives it away."""
    row = connection.execute("select pg_backend_pid()", prepare=False).fetchone()
    session = _session(connection, row)
    if not session.pooled:
        connection.execute(_PLANNER, prepare=False)
    return session


async def opened_async(connection: OwnAsyncConnection) -> Session:
    """The same for an async connection."""
    row = await (await connection.execute("select pg_backend_pid()", prepare=False)).fetchone()
    session = _session(connection, row)
    if not session.pooled:
        await connection.execute(_PLANNER, prepare=False)
    return session


def _session(connection: OwnConnection | OwnAsyncConnection, row: Any) -> Session:
    set_json_loads(from_json, connection)  # several times as fast as the standard library's
    connection.session = Session(pooled=row is None or connection.info.backend_pid != row[0])
    return connection.session


def check(connection: OwnConnection) -> None:
    """Of a pool, before a connection is handed out: asks it for a sign of life where that is in doubt."""
    if in_doubt(connection):
        ConnectionPool.check_connection(connection)


async def check_async(connection: OwnAsyncConnection) -> None:
    """The same of a pool of async connections."""
    if in_doubt(connection):
        await AsyncConnectionPool.check_connection(connection)


def reachable(dsn: str) -> None:
    """Connect once, to fail at once and clearly where there is no server, not after a pool's patience."""
    try:
        psycopg.connect(dsn, **KEEPALIVES).close()
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"The database cannot be reached: {str(error).strip()}",
            "See that the server runs and that the DSN is right; without a DSN the embedded server is used.",
        ) from error


def none_free(seconds: float) -> StoreUnavailable:
    """What is said where a pool had no connection for so long."""
    return StoreUnavailable(
        f"No connection to the database within {seconds:.0f} s.", "See that it runs and accepts connections."
    )


def clock_setting(now: datetime) -> tuple[str, list[str]]:
    """The statement that moves the session's clock (tests)."""
    return "select set_config('tenure.now', %s, false)", [now.isoformat()]
