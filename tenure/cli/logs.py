"""What a worker says while it works: lines for people on stderr, or JSON Lines on stdout."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from tenure.cli.call import Call
from tenure.terminal.wording import shown

_ACTIONS = "tenure.action"


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
    """The fields of an action's line, which comes as JSON already."""
    if record.name != _ACTIONS:
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
            names = ("action_key", "subject", "lease", "queue_key", "terminal_status", "outcome", "code", "duration_ms")
            return f"{at} {level}" + " ".join(f"{name}={fields[name]}" for name in names if name in fields)
        return f"{at} {level}{shown(record.getMessage())}"
