"""What Tenure sets on connections of its own, and how it tells a pooler from a server."""

from __future__ import annotations

import select
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg.types.json import set_json_loads
from pydantic_core import from_json

from tenure.model.errors import StoreUnavailable

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


@dataclass(frozen=True, slots=True)
class Session:
    """How a connection reaches the server. Behind a pooler nothing of a session may be relied on."""

    pooled: bool

    @property
    def prepares(self) -> bool:
        """Whether statements may be prepared."""
        return not self.pooled

    @property
    def listens(self) -> bool:
        """Whether LISTEN works on it."""
        return not self.pooled

    def __str__(self) -> str:
        return "through a pooler (no prepared statements, no LISTEN)" if self.pooled else "directly"


def opened(connection: psycopg.Connection[Any]) -> Session:
    """Set up a fresh autocommit connection. A pooler hands out process ids of its own, which gives it away."""
    row = connection.execute("select pg_backend_pid()", prepare=False).fetchone()
    session = _session(connection, row)
    if not session.pooled:
        connection.execute(_PLANNER, prepare=False)
    return session


async def opened_async(connection: psycopg.AsyncConnection[Any]) -> Session:
    """The same for an async connection."""
    row = await (await connection.execute("select pg_backend_pid()", prepare=False)).fetchone()
    session = _session(connection, row)
    if not session.pooled:
        await connection.execute(_PLANNER, prepare=False)
    return session


def _session(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any], row: Any) -> Session:
    set_json_loads(from_json, connection)  # several times as fast as the standard library's
    return Session(pooled=row is None or connection.info.backend_pid != row[0])


class Rest:
    """Which connections are asked for a sign of life before use: those that lay idle for a while, or that something came
    from. A server that goes away closes its end, so what it left behind is told apart without a round trip, and nothing
    that might have been done is sent twice.
    """

    _LONG = 1.0

    def __init__(self) -> None:
        self._used: WeakKeyDictionary[psycopg.Connection[Any] | psycopg.AsyncConnection[Any], float] = (
            WeakKeyDictionary()
        )

    def in_doubt(self, connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
        """True where it was not used for a second, or has something to read; it counts as used now."""
        now = time.monotonic()
        before, self._used[connection] = self._used.get(connection, 0.0), now
        return now - before > self._LONG or _stirred(connection)


def _stirred(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    if connection.closed:
        return True
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def reachable(dsn: str) -> None:
    """Connect once, to fail at once and clearly where there is no server, not after a pool's patience."""
    try:
        psycopg.connect(dsn, **KEEPALIVES).close()
    except psycopg.Error as error:
        raise StoreUnavailable(
            f"The database cannot be reached: {str(error).strip()}",
            "See that the server runs and that the DSN is right; without a DSN the embedded server is used.",
        ) from error


def clock_setting(now: datetime) -> tuple[str, list[str]]:
    """The statement that moves the session's clock (tests)."""
    return "select set_config('tenure.now', %s, false)", [now.isoformat()]
