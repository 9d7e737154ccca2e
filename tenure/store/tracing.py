"""The trace that an action belongs to: kept in its facts, so that a fact leads to its trace and back."""

from __future__ import annotations

from opentelemetry import trace


def trace_id() -> str | None:
    """The id of the current OpenTelemetry trace in hex, or None where nothing is traced."""
    context = trace.get_current_span().get_span_context()
    return format(context.trace_id, "032x") if context.is_valid else None
