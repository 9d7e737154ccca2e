"""The trace that an action belongs to: kept in its facts, so that a fact leads to its trace and back."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.trace import SpanContext, TraceFlags

_TRACE, _SPAN = 32, 16


def trace_reference() -> str | None:
    """The current OpenTelemetry span as facts keep it, or None where nothing is traced.

    Trace id and span id in hex, a dash in between, as in the middle of a W3C ``traceparent``.
    """
    context = trace.get_current_span().get_span_context()
    return f"{context.trace_id:032x}-{context.span_id:016x}" if context.is_valid else None


def span_context(reference: str | None) -> SpanContext | None:
    """The span that a reference names, to link to; None for what is none."""
    trace_id, _, span_id = (reference or "").partition("-")
    if len(trace_id) != _TRACE or len(span_id) != _SPAN:
        return None
    try:
        context = SpanContext(
            int(trace_id, 16), int(span_id, 16), is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
        )
    except ValueError:
        return None
    return context if context.is_valid else None


def recording() -> bool:
    """Whether the current span is kept."""
    return trace.get_current_span().is_recording()
