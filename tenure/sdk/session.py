"""What Tenure sets on connections of its own, and how it tells a pooler from a server."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import psycopg

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
    session = Session(pooled=row is None or connection.info.backend_pid != row[0])
    if not session.pooled:
        connection.execute(_PLANNER, prepare=False)
    return session


async def opened_async(connection: psycopg.AsyncConnection[Any]) -> Session:
    """The same for an async connection."""
    row = await (await connection.execute("select pg_backend_pid()", prepare=False)).fetchone()
    session = Session(pooled=row is None or connection.info.backend_pid != row[0])
    if not session.pooled:
        await connection.execute(_PLANNER, prepare=False)
    return session


def clock_setting(now: datetime) -> tuple[str, list[str]]:
    """The statement that moves the session's clock (tests)."""
    return "select set_config('tenure.now', %s, false)", [now.isoformat()]
