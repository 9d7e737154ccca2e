"""How lines of the log are written as JSON: sorted, with the time in UTC, and what the context has bound."""

from __future__ import annotations

import logging
from typing import Any

import structlog


def json_lines(logger: logging.Logger, *, context: bool = True) -> structlog.stdlib.BoundLogger:
    """Writes to ``logger``, one JSON document a line; without ``context`` only what each line says itself."""
    processors: list[Any] = [structlog.contextvars.merge_contextvars] if context else []
    processors += [
        structlog.processors.TimeStamper(fmt="iso", utc=True), structlog.processors.JSONRenderer(sort_keys=True),
    ]  # fmt: skip
    wrapped: structlog.stdlib.BoundLogger = structlog.wrap_logger(
        logger, wrapper_class=structlog.stdlib.BoundLogger, processors=processors
    )
    return wrapped
