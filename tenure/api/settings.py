"""What a server is told when it starts (design 06, HTTP API)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

OIDC_LOGIN = "/oidc/login"
"""Where signing in through a provider begins; ``?next=`` says where it shall end."""


class OidcProvider(BaseModel):
    """An OpenID Connect provider through which people may sign in (Authlib). ``issuer`` is its discovery address."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str
    client_id: str
    client_secret: str = Field(repr=False)
    label: str = "Single sign-on"
    scope: str = "openid profile email"
    create_principals: bool = False
    """Whether somebody unknown becomes a principal on first sign-in: with the role observer, who only looks."""


class ServerSettings(BaseModel):
    """All settings of ``tenure serve``. Times are seconds; rates are requests for each credential."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    dsn: str = Field(repr=False)
    tenant: str = "default"
    public_url: str | None = None
    """How browsers reach it, where a proxy stands in between; decides whether cookies are for https only."""
    max_connections: Annotated[int, Field(ge=1)] = 20
    session_ttl: Annotated[int, Field(ge=60)] = 12 * 3600
    rate_per_second: Annotated[float, Field(gt=0)] = 200.0
    rate_burst: Annotated[int, Field(ge=1)] = 400
    anonymous_per_second: Annotated[float, Field(gt=0)] = 20.0
    anonymous_burst: Annotated[int, Field(ge=1)] = 100
    """For each address, as long as no credential has proved who asks."""
    sign_in_per_minute: Annotated[float, Field(gt=0)] = 2.0
    sign_in_burst: Annotated[int, Field(ge=1)] = 10
    """Failed attempts to sign in under one name; from one address four times as many in a row."""
    max_body_bytes: Annotated[int, Field(ge=1024)] = 64 * 1024 * 1024
    max_line_bytes: Annotated[int, Field(ge=1024)] = 1024 * 1024
    """Of one line of a bulk submit, which as a whole may be of any length."""
    heartbeat_seconds: Annotated[float, Field(gt=0)] = 15.0
    """Between two signs of life of a stream of events."""
    listen_dsn: str | None = Field(default=None, repr=False)
    """A direct DSN for LISTEN, where ``dsn`` goes through a pooler."""
    open_metrics: bool = False
    """Whether /metrics answers anybody, with the numbers of ``tenant``; else it needs a token that may read."""
    relay: bool = False
    """Whether it also sends events to their subscriptions; its database role owns the schema then, or is granted tenure_relay."""
    event_files: Path | None = Field(default=None)
    """The folder for events that go to files; without it none do."""
    metrics_age_seconds: Annotated[float, Field(ge=0)] = 1.0
    """How old the numbers of queues in /metrics may be: so long one count serves all who scrape."""
    oidc: OidcProvider | None = None
    ui: bool = True
    clock: Callable[[], datetime] | None = None
    """Moves the database's clock, for tests."""
