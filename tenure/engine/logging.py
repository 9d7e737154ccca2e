"""One structured line for each action, with the fields of S1 section 9.5; never a token, never a payload.

Every line has every field; what does not apply is null. What the caller has bound with ``structlog.contextvars`` (the
id of an HTTP request) is in each line, too.
"""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from tenure.engine.caller import Caller
from tenure.engine.json_lines import json_lines
from tenure.engine.tracing import span
from tenure.model import euid
from tenure.model.attempt import attempt_of
from tenure.model.errors import TenureError
from tenure.model.requests import Request
from tenure.model.result import ActionResult
from tenure.store.operation import Op
from tenure.store.tracing import trace_reference

T = TypeVar("T")

_stdlib = logging.getLogger("tenure.action")
_log = json_lines(_stdlib)

#: S1 section 9.5's fields, and who did it, how it went, where it stands and which trace it belongs to.
FIELDS = (
    "tenant", "subject", "worker", "lease", "queue_key", "action_key", "idempotency_key", "expected_state",
    "terminal_status", "duration_ms", "correlation_id", "actor", "outcome", "code", "seq", "trace_id",
)  # fmt: skip
_CAUSES = 5
_PREFIXES = {"subject": euid.SUBJECT, "lease": euid.LEASE, "worker": euid.WORKER, "principal": euid.PRINCIPAL}


def wanted() -> bool:
    """Whether anybody reads the lines; asked once for a batch."""
    return _stdlib.isEnabledFor(logging.INFO)


def stopwatch() -> Callable[[], float]:
    """Milliseconds since now, for the duration of an action."""
    begin = time.perf_counter()
    return lambda: round((time.perf_counter() - begin) * 1000, 3)


def log_outcome(
    caller: Caller, action: str, outcome: ActionResult | TenureError, duration_ms: float, request: Request | None = None,
    **known: Any,
) -> None:  # fmt: skip
    """Write the line of one outcome. ``known`` fills in what neither outcome nor request says."""
    names = ("subject", "lease", "worker", "queue_key", "idempotency_key", "expected_state")
    fields = {name: getattr(request, name, None) for name in names}
    if fields["lease"] is not None:
        fields["lease"] = attempt_of(fields["lease"])
    fields |= {name: value for name, value in known.items() if value is not None}
    if isinstance(outcome, ActionResult):
        fields |= {"outcome": "replayed" if outcome.replayed else "done", "terminal_status": str(outcome.state)}
        answered = ("subject", "lease", "worker", "queue_key", "seq")
        fields |= {name: value for name in answered if (value := getattr(outcome, name)) is not None}
    else:
        fields |= {"outcome": "refused", "code": outcome.code}
    log_action(caller, action, duration_ms, **fields)


def log_action(caller: Caller, action: str, duration_ms: float, **fields: Any) -> None:
    """Write one line."""
    line: dict[str, Any] = dict.fromkeys(FIELDS)
    line |= {name: _public(name, value) for name, value in fields.items()}
    line |= {"tenant": caller.tenant_key, "actor": caller.actor, "action_key": str(action), "duration_ms": duration_ms}
    line["trace_id"] = trace_reference()
    _log.info("action", **line)


def log_many(
    caller: Caller, action: str, outcomes: Sequence[ActionResult | TenureError], duration_ms: float,
    requests: Sequence[Request] | None = None, correlation_ids: Mapping[int, str] | None = None,
    known: Sequence[Mapping[str, Any]] | None = None,
) -> None:  # fmt: skip
    """Write the lines of a set."""
    for index, outcome in enumerate(outcomes):
        request = requests[index] if requests is not None else None
        more = dict(known[index]) if known is not None else {}
        subject = outcome.subject if isinstance(outcome, ActionResult) else more.get("subject")
        if correlation_ids is not None:
            more["correlation_id"] = correlation_ids.get(subject or 0)
        log_outcome(caller, action, outcome, duration_ms, request, **more)


def correlations(caller: Caller, subjects: Iterable[int | None]) -> Op[dict[int, str]]:
    """The correlation ids of subjects for their lines; nothing is asked where nobody reads them."""
    asked = {uid for uid in subjects if uid is not None}
    if not asked or not wanted():
        return {}
    origins = yield from caller.store.origins(caller.tenant, asked)
    return {uid: origin.correlation_id for uid, origin in origins.items() if origin.correlation_id is not None}


def told(caller: Caller, action: str, op: Op[T], describe: Callable[[T], Mapping[str, Any]], **asked: Any) -> Op[T]:
    """Drive an action on something that is no subject, in a span and with its line.

    ``describe`` gives the fields that its value fills; ``asked`` what is known beforehand.
    """
    elapsed = stopwatch()
    with span(f"tenure.{action}"):
        try:
            value = yield from op
        except TenureError as error:
            if wanted():
                log_action(caller, action, elapsed(), **asked, outcome="refused", code=error.code)
            raise
        if wanted():
            log_action(caller, action, elapsed(), **{**asked, "outcome": "done", **describe(value)})
    return value


def where(error: BaseException) -> str:
    """Class and place of an error and of what caused it, without their messages: these may quote a payload or a row."""
    told: list[str] = []
    cause: BaseException | None = error
    while cause is not None and len(told) < _CAUSES:
        frames = traceback.extract_tb(cause.__traceback__)
        places = " < ".join(f"{frame.filename}:{frame.lineno} {frame.name}" for frame in reversed(frames))
        told.append(f"{type(cause).__name__} at {places or 'no place'}")
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return ", because of ".join(told)


def _public(name: str, value: Any) -> Any:
    prefix = _PREFIXES.get(name)
    if prefix is not None and isinstance(value, int):
        return euid.format_euid(prefix, value)
    return value if value is None or isinstance(value, int | float) else str(value)
