"""Spans of OpenTelemetry (design 01, The actions). They carry EUIDs and keys only: no token, no payload, no message."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.environment_variables import OTEL_PYTHON_TRACER_PROVIDER
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, StatusCode
from opentelemetry.util.types import AttributeValue

_NONE = (trace.ProxyTracerProvider, trace.NoOpTracerProvider)
_NAMED = OTEL_PYTHON_TRACER_PROVIDER in os.environ
"""Whether the environment names one, which is loaded when it is first asked for."""
_tracer = trace.get_tracer("tenure")
_NOTHING = nullcontext(trace.INVALID_SPAN)


def span(
    name: str, attributes: Mapping[str, AttributeValue] | None = None, *, kind: SpanKind = SpanKind.INTERNAL,
    links: Iterable[SpanContext] = (), context: Context | None = None,
) -> AbstractContextManager[Span]:  # fmt: skip
    """A span around a block. What the block raises is told by its code or class: a message may quote the payload.

    Where nobody keeps spans and there is no other context to enter, there is nothing to do.
    """
    if context is None and not exporting():
        return _NOTHING
    return _spanned(name, attributes, kind, links, context)


@contextmanager
def _spanned(
    name: str, attributes: Mapping[str, AttributeValue] | None, kind: SpanKind, links: Iterable[SpanContext],
    context: Context | None,
) -> Iterator[Span]:  # fmt: skip
    with _tracer.start_as_current_span(
        name, context, kind, attributes, [Link(linked) for linked in links], record_exception=False,
        set_status_on_exception=False,
    ) as current:  # fmt: skip
        try:
            yield current
        except BaseException as error:
            current.set_status(StatusCode.ERROR, str(getattr(error, "code", type(error).__name__)))
            raise


def exporting() -> bool:
    """Whether this process keeps spans at all: what is asked for every job is not asked where nobody looks."""
    if not _NAMED and getattr(trace, "_TRACER_PROVIDER", _NAMED) is None:
        return False  # nobody has set one; to ask for it in public looks through the environment each time
    return not isinstance(trace.get_tracer_provider(), _NONE)
