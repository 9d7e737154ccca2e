"""Tells of each request: one structured line, an id that every line of its actions carries, and a span (S1 section 9.5).

Neither holds an address as it was asked, a query, a body or a header: only the template of the route and who asked.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog
from opentelemetry.trace import Span, SpanKind
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.api.problem import unexpected
from tenure.api.runtime_metrics import template_of
from tenure.engine.json_lines import json_lines
from tenure.engine.tracing import span
from tenure.model.principal import Identity
from tenure.store.tracing import trace_reference

_stdlib = logging.getLogger("tenure.request")
_log = json_lines(_stdlib, context=False)
_propagator = TraceContextTextMapPropagator()
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")
_HEADER = b"x-request-id"
_SERVER_ERROR = 500


def note_identity(scope: Scope, identity: Identity) -> None:
    """Remember who asked, for the line of the request."""
    scope.setdefault("state", {})["tenure_identity"] = identity


class BrokenOffError(RuntimeError):
    """An answer that had begun could not be finished; the log has the incident."""


class TellRequests:
    """ASGI middleware. The request's id is that of X-Request-ID, or a fresh one; the answer carries it, too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        given = headers.get(_HEADER, "")
        request_id = given if _ID.fullmatch(given) else uuid.uuid4().hex
        began, status, begun = time.perf_counter(), _SERVER_ERROR, False
        # Not merely handed down: threads and tasks that the request starts tell of it, too.
        with structlog.contextvars.bound_contextvars(request_id=request_id), _spanned(scope, headers) as current:

            async def noted(message: Message) -> None:
                nonlocal status, begun
                if message["type"] == "http.response.start":
                    begun = True
                    status = message["status"]
                    message = {**message, "headers": [*message.get("headers", ()), *_headers(request_id)]}
                await send(message)

            try:
                await self._app(scope, receive, noted)
            except Exception as error:
                # Answered here: whoever is further out would write the message of the error to a log.
                answer = unexpected(error)
                if begun:
                    raise BrokenOffError from None
                await answer(scope, receive, noted)
            finally:
                route = template_of(scope)
                current.update_name(f"{scope['method']} {route}")
                current.set_attribute("http.route", route)
                current.set_attribute("http.response.status_code", status)
                if _stdlib.isEnabledFor(logging.INFO):
                    _tell(scope, route, status, began, request_id)


@contextmanager
def _spanned(scope: Scope, headers: Mapping[bytes, str]) -> Iterator[Span]:
    carrier = {name: headers[name.encode()] for name in ("traceparent", "tracestate") if name.encode() in headers}
    attributes = {"http.request.method": scope["method"], "tenure.server": "api"}
    context = _propagator.extract(carrier)
    with span(str(scope["method"]), attributes, kind=SpanKind.SERVER, context=context) as current:
        yield current


def _headers(request_id: str) -> list[tuple[bytes, bytes]]:
    carrier: dict[str, str] = {}
    _propagator.inject(carrier)
    return [(_HEADER, request_id.encode()), *((name.encode(), value.encode()) for name, value in carrier.items())]


def _tell(scope: Scope, route: str, status: int, began: float, request_id: str) -> None:
    identity: Identity | None = scope.get("state", {}).get("tenure_identity")
    line: dict[str, Any] = {
        "method": scope["method"], "route": route, "status": status, "request_id": request_id,
        "duration_ms": round((time.perf_counter() - began) * 1000, 3), "trace_id": trace_reference(),
        "tenant": identity.tenant_key if identity is not None else None,
        "actor": identity.actor if identity is not None else None,
    }  # fmt: skip
    _log.info("request", **line)
