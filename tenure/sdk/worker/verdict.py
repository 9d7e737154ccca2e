"""Turns what a handler returned or raised into the report of its lease."""

from __future__ import annotations

import logging
import traceback
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from tenure.engine.logging import where
from tenure.model.errors import InvalidPayload, TenureError
from tenure.model.json_text import payload_hash
from tenure.model.requests import CompleteExecution, DeferExecution, DispatchExternal, FailExecution, validated
from tenure.model.states import ErrorClass
from tenure.sdk.outcomes import Defer, Dispatched, Fail, Next, Produced, Retry
from tenure.sdk.references import subject_uid
from tenure.sdk.settings import Clock
from tenure.sdk.tasks import Task
from tenure.sdk.worker.elsewhere import FailedElsewhere
from tenure.sdk.worker.holding import Held
from tenure.sdk.worker.transport import Report
from tenure.store.records import Finish

_log = logging.getLogger("tenure.worker")
_NOTHING = payload_hash({})
_MESSAGE = 10_000


def done(task: Task[..., Any], held: Held, value: Any) -> Report:
    """The report of a handler that returned; ``InvalidPayload`` for a result that cannot be kept."""
    if value is None:
        return Finish(held.item.lease, held.token.digest, _NOTHING, subject=held.item.subject)
    if isinstance(value, Next):
        request = validated(
            CompleteExecution, **_holder(held), result=_plain(value.result), next_queue_key=value.queue_key,
            next_action_key=value.action_key, ready_at=value.ready_at, outputs=tuple(map(subject_uid, value.outputs)),
        )  # fmt: skip
        request.payload_hash()
        return request
    if isinstance(value, Produced):
        outputs = tuple(map(subject_uid, value.outputs))
        request = validated(CompleteExecution, **_holder(held), result=_plain(value.result), outputs=outputs)
        request.payload_hash()
        return request
    result = task.result(value)
    digest = payload_hash({"result": result})
    return Finish(held.item.lease, held.token.digest, digest, result, subject=held.item.subject)


def raised(held: Held, error: BaseException, clock: Clock | None) -> Report:
    """The report of a handler that raised. There always is one: an outcome that makes no sense is a failure, too."""
    try:
        return _report(held, error, clock)
    except (TenureError, ValidationError, ValueError, TypeError, OverflowError) as invalid:
        message = f"The handler raised {type(error).__name__}, which cannot be reported as it is: {invalid}"
        return failed(held, ErrorClass.TRANSIENT_SYSTEM, "invalid_outcome", message)


def failed(
    held: Held, error_class: ErrorClass, code: str | None, message: str, after: float | None = None
) -> FailExecution:
    """The report of a failure."""
    return FailExecution(
        **_holder(held), error_class=error_class, error_code=code, error_message=message[-_MESSAGE:] or None,
        retry_after_seconds=after,
    )  # fmt: skip


def _report(held: Held, error: BaseException, clock: Clock | None) -> Report:
    match error:
        case Defer():
            until = error.until or _now(held, clock) + timedelta(seconds=error.seconds or 0)
            return validated(DeferExecution, **_holder(held), until=until)
        case Dispatched():
            return validated(
                DispatchExternal, **_holder(held), external_ref=error.external_ref, deadline=error.deadline
            )
        case Retry():
            return failed(held, error.error_class, error.code, str(error), error.after_seconds)
        case Fail():
            return failed(held, error.error_class, error.code, str(error))
        case InvalidPayload():
            return failed(held, ErrorClass.PERMANENT_INPUT, error.code, error.message)
        case TenureError():
            return failed(held, ErrorClass.TRANSIENT_DEPENDENCY, error.code, error.message)
        case FailedElsewhere():
            return failed(held, ErrorClass.TRANSIENT_SYSTEM, error.name, error.text)
    _log.info("%s: the handler raised %s", held.job.lease, where(error))  # the record keeps the message
    text = "".join(traceback.format_exception(error))
    return failed(held, ErrorClass.TRANSIENT_SYSTEM, type(error).__name__, text)


def _now(held: Held, clock: Clock | None) -> datetime:
    """The database's time, counted from the claim: this machine's clock may be wrong."""
    return clock() if clock is not None else held.item.claimed_at + timedelta(seconds=held.seconds_held)


def _holder(held: Held) -> dict[str, Any]:
    return {"lease": held.item.lease, "worker": held.item.worker, "token_hash": held.token.digest}


def _plain(value: Any) -> Any:
    try:
        return to_jsonable_python(value)
    except PydanticSerializationError as error:
        raise InvalidPayload(
            f"The result is a {type(value).__name__} that cannot be written as JSON: {error}.",
            "Return JSON-ready data, or keep it in the payload store and return its reference.",
        ) from error
