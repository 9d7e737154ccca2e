"""One structured line for each action, with the fields of S1 section 9.5; never a token, never a payload."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

import structlog

from tenure.engine.caller import Caller
from tenure.model import euid
from tenure.model.errors import TenureError
from tenure.model.result import ActionResult

_stdlib = logging.getLogger("tenure.action")
_log: structlog.stdlib.BoundLogger = structlog.wrap_logger(
    _stdlib,
    wrapper_class=structlog.stdlib.BoundLogger,
    processors=[
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.JSONRenderer(sort_keys=True),
    ],
)


def wanted() -> bool:
    """Whether anybody reads the lines; asked once for a batch."""
    return _stdlib.isEnabledFor(logging.INFO)


def stopwatch() -> Callable[[], float]:
    """Milliseconds since now, for the duration of an action."""
    begin = time.perf_counter()
    return lambda: round((time.perf_counter() - begin) * 1000, 3)


def log_action(
    caller: Caller, action: str, outcome: ActionResult | TenureError, duration_ms: float, **fields: Any
) -> None:
    """Write the line of one outcome."""
    line: dict[str, Any] = {"tenant": caller.tenant_key, "actor": caller.actor, "action_key": action}
    line |= {name: _public(name, value) for name, value in fields.items() if value is not None}
    if isinstance(outcome, TenureError):
        line |= {"outcome": "refused", "code": outcome.code}
    else:
        line |= {
            "outcome": "replayed" if outcome.replayed else "done",
            "subject": euid.format_euid(euid.SUBJECT, outcome.subject),
            "queue_key": outcome.queue_key,
            "terminal_status": str(outcome.state),
            "seq": outcome.seq,
        }
        if outcome.lease is not None:
            line["lease"] = euid.format_euid(euid.LEASE, outcome.lease)
        if outcome.worker is not None:
            line["worker"] = euid.format_euid(euid.WORKER, outcome.worker)
    _log.info("action", **line, duration_ms=duration_ms)


_PREFIXES = {"subject": euid.SUBJECT, "lease": euid.LEASE, "worker": euid.WORKER}


def _public(name: str, value: Any) -> Any:
    prefix = _PREFIXES.get(name)
    return euid.format_euid(prefix, value) if prefix is not None and isinstance(value, int) else str(value)
