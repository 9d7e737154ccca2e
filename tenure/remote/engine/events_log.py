"""One structured line for each event, with the seven fields that S5 wants on it (S5, Observability fields)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from tenure.engine.json_lines import json_lines

_stdlib = logging.getLogger("tenure.remote")
_log = json_lines(_stdlib)
FIELDS = ("trace_id", "tenant_id", "job_id", "submission_id", "execution_id", "event_id", "state")
_LONGEST = 200


def log_event(event: Mapping[str, Any], outcome: str, code: str | None = None, **more: Any) -> None:
    """Write the line of an event, as it came: each of the seven fields is there, null where it was not given."""
    if not _stdlib.isEnabledFor(logging.INFO):
        return
    fields = {name: _plain(event.get(name)) for name in FIELDS}
    _log.info("execution_event", outcome=outcome, code=code, **fields, **more)


def _plain(value: Any) -> str | None:
    return str(value)[:_LONGEST] if isinstance(value, str) else None
