"""What may be said when a subscription is defined: whose it is, which events, and where to (design 05, Out)."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, field_validator, model_validator

from tenure.model.queue import BackoffMode, Key, RetryPolicy

Actor = Annotated[
    str, StringConstraints(max_length=200, pattern=r"^(user|agency|role|agent|service):[^\x00-\x20][^\x00-\x1f]*$")
]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
TypePattern = Annotated[str, StringConstraints(max_length=200, pattern=r"^(\*|[a-z][a-z0-9_]*\.(\*|[a-z0-9_]+))$")]
Domain = Literal[
    "iu", "piece", "staging", "birth_registry", "governance", "tac", "kg", "system", "dot", "health", "execution", "queue",
    "worker", "flow", "people", "remote",
]  # fmt: skip
Stream = Literal["comment", "review", "update", "birth", "task", "alert", "health"]
Severity = Literal["info", "warning", "critical"]
MAX_URL = 2000
_MAX_HOST = 253

_FROZEN = ConfigDict(frozen=True, extra="forbid")


class EventFilter(BaseModel):
    """Which facts are events of a subscription: those that fit every criterion given, each by any of its values.

    ``types`` are fact types, ``run.*`` for all of one kind, ``*`` for all there are. Something must be given: what nobody
    asked for goes nowhere.
    """

    model_config = _FROZEN

    types: tuple[TypePattern, ...] = Field((), max_length=100)
    domains: tuple[Domain, ...] = ()
    streams: tuple[Stream, ...] = ()
    severities: tuple[Severity, ...] = ()
    queues: tuple[Key, ...] = Field((), max_length=100)

    @model_validator(mode="after")
    def _something(self) -> EventFilter:
        if not (self.types or self.domains or self.streams or self.severities or self.queues):
            raise ValueError("say which events: types, domains, streams, severities or queues; types ['*'] are all")
        return self


class Webhook(BaseModel):
    """Events are posted to a URL, signed, one request each (``tenure.webhooks`` verifies them).

    ``allow_private`` lets it be in a private network, and be plain http; without it a URL that resolves to an address that
    is not public is refused, whenever it is connected to. ``concurrency`` is how many requests may be under way at once,
    each for another thread. Seconds for ``timeout_seconds``, of one request as a whole.
    """

    model_config = _FROZEN

    kind: Literal["webhook"] = "webhook"
    url: Annotated[str, StringConstraints(max_length=MAX_URL, pattern=r"^[\x21-\x7e]+$")] = Field(repr=False)
    allow_private: bool = False
    timeout_seconds: float = Field(10, ge=0.1, le=60)
    concurrency: int = Field(8, ge=1, le=64)

    @model_validator(mode="after")
    def _reachable(self) -> Webhook:
        parts = urlsplit(self.url)
        try:
            usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError:  # a port that is no number
            usable = False
        if not usable:
            raise ValueError("the URL of a webhook is https://host/path")
        if parts.username is not None or parts.password is not None or parts.fragment:
            raise ValueError("a URL carries no name, no password and no fragment: events are signed instead")
        if parts.scheme == "http" and not self.allow_private:
            raise ValueError("plain http is for private networks alone (allow_private): use https")
        return self

    @property
    def findable(self) -> bool:
        """Whether its host can be a name at all (RFC 1035). Asked where it is defined: one of before is read as it is."""
        host = urlsplit(self.url).hostname or ""
        try:
            host.encode("idna")
        except UnicodeError:
            return False
        return len(host.removesuffix(".")) <= _MAX_HOST

    @property
    def origin(self) -> str:
        """Scheme, host and port: what may be told of a URL, whose path may be a secret."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}"


class EventFile(BaseModel):
    """Events are appended to a file as lines of JSON, in the folder that the relay was given for it (``--files``)."""

    model_config = _FROZEN

    kind: Literal["file"] = "file"
    name: Name


class Stdout(BaseModel):
    """Events are written to the standard output of the relay as lines of JSON."""

    model_config = _FROZEN

    kind: Literal["stdout"] = "stdout"


class WorkflowTrigger(BaseModel):
    """Events start runs of a workflow, by an event trigger that its definition declares; defining it makes this."""

    model_config = _FROZEN

    kind: Literal["workflow"] = "workflow"
    workflow: Name
    trigger: Name


Destination = Annotated[Webhook | EventFile | Stdout | WorkflowTrigger, Field(discriminator="kind")]


_EXAMPLE: dict[str, Any] = {
    "name": "shop", "actor": "service:shop", "filter": {"types": ["run.terminal"]},
    "destination": {"kind": "webhook", "url": "https://shop.example/events"},
}  # fmt: skip


class SubscriptionSpec(BaseModel):
    """A subscription as it is defined. The actor is whose it is: ``user:ada``, ``agency:``, ``role:``, ``agent:``, ``service:``.

    ``lane``: ``immediate``, or ``delayed``: events are held for ``window_seconds`` (60 to 300), then sent in one go.
    ``on_poison``: an event that its receiver refuses is dead-lettered and the others go on (``skip``), or the
    subscription stops as well until a person lets it go on (``stop``, which also sends everything in the ledger's order,
    one by one). ``max_attempts`` counts failures of one event while others get through. ``source`` is the events' own, a
    URI reference; by default it names the tenant.

    ``group_by``: what keeps its order, and waits as a whole where one of its events fails. ``thread``: a subject, a run, ...
    by itself; ``correlation``: all threads that were given one correlation id (an import batch, a run with its steps, a remote
    job with its submissions), and each other by itself. It stays as it was defined.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra={"examples": [_EXAMPLE]})

    name: Name
    actor: Actor
    filter: EventFilter
    destination: Destination
    lane: Literal["immediate", "delayed"] = "immediate"
    window_seconds: int | None = Field(None, ge=60, le=300)
    group_by: Literal["thread", "correlation"] = "thread"
    on_poison: Literal["skip", "stop"] = "skip"
    max_attempts: int = Field(10, ge=1, le=1000)
    backoff: RetryPolicy = RetryPolicy(
        mode=BackoffMode.EXPONENTIAL_BACKOFF, initial_delay_seconds=1, max_delay_seconds=300, jitter=0.3
    )
    source: Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[\x21-\x7e]+$")] | None = None

    @model_validator(mode="before")
    @classmethod
    def _window(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("lane") == "delayed" and given.get("window_seconds") is None:
            return given | {"window_seconds": 60}
        return given

    @model_validator(mode="after")
    def _lane(self) -> SubscriptionSpec:
        if self.lane == "immediate" and self.window_seconds is not None:
            raise ValueError("a window is for the lane 'delayed'")
        return self

    @field_validator("backoff")
    @classmethod
    def _patient(cls, backoff: RetryPolicy) -> RetryPolicy:
        if backoff.initial_delay_seconds < _LEAST or backoff.max_delay_seconds > _MOST:
            raise ValueError(f"delays are {_LEAST:g} s at least and {_MOST:g} s at most")
        return backoff

    def told(self) -> dict[str, Any]:
        """What the fact of it tells: all but a URL, of which it has the origin and a hash."""
        plain = self.model_dump(mode="json", exclude={"name", "destination"})
        where: dict[str, Any] = self.destination.model_dump(mode="json", exclude={"url"})
        if isinstance(self.destination, Webhook):
            where["origin"] = self.destination.origin
            where["url_sha256"] = hashlib.sha256(self.destination.url.encode()).hexdigest()
        return plain | {"destination": where}


_LEAST, _MOST = 0.1, 3600.0
