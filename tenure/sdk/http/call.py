"""One request to a server, apart from who sends it: the sync and the async client send the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from pydantic_core import from_json, to_json

from tenure import __version__
from tenure.model.errors import TenureError
from tenure.sdk.http.address import PREFIX, Address
from tenure.sdk.http.problem import Refusal, problem_of

T = TypeVar("T")
_propagator = TraceContextTextMapPropagator()


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """What to ask, and how to read the answer. With a ``key`` it may be sent again without being done again."""

    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None
    key: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    media_type: str = "application/json"
    wait: float = 0.0
    """Seconds for which the server may wait before it answers."""
    prefix: str = PREFIX
    """Below which part of the API the path is."""

    def url(self, address: Address) -> str:
        """Where it goes."""
        return f"{address.url}{self.prefix}{self.path}"

    def headers(self, address: Address) -> dict[str, str]:
        """What goes with it; the trace that it belongs to, too."""
        headers = {"Authorization": address.authorization, "User-Agent": f"tenure/{__version__}"}
        if self.body is not None:
            headers["Content-Type"] = self.media_type
        if self.key is not None:
            headers["Idempotency-Key"] = self.key
        _propagator.inject(headers)
        return headers

    def content(self) -> bytes | None:
        """The body: bytes as they are, all else as JSON."""
        return self.body if self.body is None or isinstance(self.body, bytes) else to_json(self.body)

    def _parsed(self, content: bytes) -> Any:
        if self.media_type != "application/json":
            return [from_json(line) for line in content.splitlines()]
        return from_json(content)

    def answer(self, status: int, content: bytes) -> T:
        """What the answer says. Raises the error that it tells of."""
        if not 200 <= status < 300:
            raise problem_of(status, content)
        try:
            return self.read(self._parsed(content))
        except TenureError:
            raise
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refusal(
                f"The server answered {self.path} with what is no answer of this version's.",
                "Check the URL, and that server and client are of like versions.",
            ) from error
