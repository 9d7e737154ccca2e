"""What a handler may return or raise to say more than "done" (design 01, Retry; design 06, SDK)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tenure.model.states import ErrorClass
from tenure.sdk.references import SubjectRef


@dataclass(frozen=True, slots=True)
class Next:
    """Return it to send the subject on to another queue when the work is done."""

    queue_key: str
    action_key: str | None = None
    result: Any = None
    ready_at: datetime | None = None
    outputs: Sequence[SubjectRef] = ()


@dataclass(frozen=True, slots=True)
class Produced:
    """Return it to name the subjects that the work brought forth."""

    outputs: Sequence[SubjectRef]
    result: Any = None


class HandlerSignal(Exception):
    """Base of what a handler raises on purpose."""


class Retry(HandlerSignal):
    """It failed for now; try again, after ``after_seconds`` or by the queue's policy. Spends an attempt."""

    def __init__(
        self, message: str = "", *, after_seconds: float | None = None, code: str | None = None,
        error_class: ErrorClass = ErrorClass.TRANSIENT_SYSTEM,
    ) -> None:  # fmt: skip
        super().__init__(message)
        self.after_seconds = after_seconds
        self.code = code
        self.error_class = error_class


class Fail(HandlerSignal):
    """It failed for good: a dead letter. With BUSINESS_RULE_HOLD the subject is held instead."""

    def __init__(
        self, message: str = "", *, code: str | None = None, error_class: ErrorClass = ErrorClass.PERMANENT_INPUT
    ) -> None:
        super().__init__(message)
        self.code = code
        self.error_class = error_class


class Defer(HandlerSignal):
    """Not now: try again at ``until``, or in ``seconds``. Spends no attempt."""

    def __init__(self, *, until: datetime | None = None, seconds: float | None = None) -> None:
        super().__init__("deferred")
        self.until = until
        self.seconds = seconds

    def __reduce__(self) -> tuple[Any, ...]:
        # An exception is made again from its message alone, which this one does not take.
        return _defer, (self.until, self.seconds)


class Dispatched(HandlerSignal):
    """The work goes on outside; whoever holds the lease reports its end."""

    def __init__(self, external_ref: str | None = None, *, deadline: datetime | None = None) -> None:
        super().__init__("dispatched")
        self.external_ref = external_ref
        self.deadline = deadline


def _defer(until: datetime | None, seconds: float | None) -> Defer:
    return Defer(until=until, seconds=seconds)
