"""Where the database is and who asks: arguments, then the environment, then the embedded PostgreSQL."""

from __future__ import annotations

import getpass
import os
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from tenure.embedded import default_cluster
from tenure.store.postgres.migrate import migrate

#: The tenant of whoever names none: the only one that is made without being asked for.
DEFAULT_TENANT = "default"


class Clock(Protocol):
    """A clock that tests move. In production there is none: the database's own rules."""

    def __call__(self) -> datetime:
        """The present moment, aware."""
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """What a client needs to know."""

    dsn: str
    tenant: str
    actor: str
    clock: Clock | None = None
    notify: bool = True


def resolve(dsn: str | None, tenant: str | None, actor: str | None, clock: Clock | None, notify: bool) -> Settings:
    """Fill in what was not given: ``TENURE_DSN``, ``TENURE_TENANT``, ``TENURE_ACTOR``.

    Without any DSN the embedded PostgreSQL in ``.tenure/`` is started and migrated (design 06, Embedded default).
    """
    dsn = dsn or os.environ.get("TENURE_DSN")
    if not dsn:
        dsn = default_cluster().start()
        migrate(dsn)
    return Settings(
        dsn=dsn,
        tenant=tenant or os.environ.get("TENURE_TENANT") or DEFAULT_TENANT,
        actor=actor or os.environ.get("TENURE_ACTOR") or f"user:{_user()}",
        clock=clock,
        notify=notify,
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
