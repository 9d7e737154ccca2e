"""What a worker says while it works: lines for people on stderr, or JSON Lines on stdout."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from tenure.cli.call import Call
from tenure.terminal.wording import shown

_ACTIONS = "tenure.action"
_OF_ACTIONS = ("action_key", "subject", "lease", "queue_key", "terminal_status", "outcome", "code", "duration_ms")
_OF_REQUESTS = ("method", "route", "status", "actor", "duration_ms", "request_id")
_OF_EVENTS = (
    "outcome", "code", "state", "execution_id", "submission_id", "job_id", "event_id", "tenant_id", "trace_id", "said",
)  # fmt: skip
#: Those who write JSON themselves, and what people are shown of it.
_NAMES = {
    _ACTIONS: _OF_ACTIONS, "tenure.request": _OF_REQUESTS, "tenure.agent.event": _OF_EVENTS, "tenure.remote": _OF_EVENTS,
}  # fmt: skip


def log_to(call: Call) -> None:
    """Set up logging for this process as the call wants it. Each action is told with --json or --verbose."""
    handler = logging.StreamHandler(sys.stdout if call.json else sys.stderr)
    handler.setFormatter(_JsonLines() if call.json else _ForPeople())
    root = logging.getLogger("tenure")
    root.handlers[:] = [handler]
    root.propagate = False
    root.setLevel(logging.INFO)
    logging.getLogger(_ACTIONS).setLevel(logging.INFO if call.json or call.verbose else logging.WARNING)


def _said(record: logging.LogRecord) -> dict[str, object]:
    """The fields of a line that comes as JSON already: of an action, or of a request."""
    if record.name not in _NAMES:
        return {}
    try:
        fields = json.loads(record.getMessage())
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(), "level": record.levelname.lower(),
            "logger": record.name, "event": record.getMessage(),
        }  # fmt: skip
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps({**line, **_said(record)})


class _ForPeople(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC).strftime("%H:%M:%SZ")
        level = "" if record.levelno < logging.WARNING else f"{record.levelname} "
        if fields := _said(record):
            names = _NAMES[record.name]
            return f"{at} {level}" + " ".join(
                f"{name}={fields[name]}" for name in names if fields.get(name) is not None
            )
        return f"{at} {level}{shown(record.getMessage())}"
