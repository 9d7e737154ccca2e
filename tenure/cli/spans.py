"""Sends spans of this process where OpenTelemetry's own environment variables say (``OTEL_TRACES_EXPORTER``)."""

from __future__ import annotations

import atexit
import os
from importlib.metadata import entry_points

from tenure import __version__
from tenure.engine.tracing import exporting
from tenure.model.errors import InvalidRequest

_GROUP = "opentelemetry_traces_exporter"
_PATIENCE = 2000
"""Milliseconds."""


def export_spans(service: str) -> bool:
    """Export spans by the exporter that is named; False where none is, or where the process has set one up itself.

    ``console`` comes with the SDK, ``otlp`` with opentelemetry-exporter-otlp. Raises InvalidRequest for one that is not
    installed.
    """
    name = os.environ.get("OTEL_TRACES_EXPORTER", "none")
    if name in ("", "none") or exporting():
        return False
    try:
        from opentelemetry import trace  # noqa: PLC0415 - only those who ask for it have the SDK
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise InvalidRequest(
            "OTEL_TRACES_EXPORTER is set, but the OpenTelemetry SDK is not installed.",
            "Install tenure[otel], or unset it.",
        ) from None
    found = list(entry_points(group=_GROUP, name=name))
    if not found:
        raise InvalidRequest(
            f"There is no OpenTelemetry exporter {name!r} here.", "Install one, such as opentelemetry-exporter-otlp."
        )
    told = {"service.name": os.environ.get("OTEL_SERVICE_NAME", service), "service.version": __version__}
    provider = TracerProvider(resource=Resource.create(told))
    provider.add_span_processor(BatchSpanProcessor(found[0].load()()))
    atexit.register(provider.shutdown)
    trace.set_tracer_provider(provider)
    return True


def send_spans() -> None:
    """Send what is kept back, where this process ends without its exit handlers."""
    from opentelemetry.trace import get_tracer_provider  # noqa: PLC0415 - which the other commands do not wait for

    flush = getattr(get_tracer_provider(), "force_flush", None)
    if flush is not None:
        flush(_PATIENCE)
