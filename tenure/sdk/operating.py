"""What an operator can do with subjects that stand still or run astray, written once as operations (S1 section 7)."""

from __future__ import annotations

from typing import Any

from tenure.engine.actions import cancel as cancel_action
from tenure.engine.actions import expire as expire_action
from tenure.engine.actions import hold as hold_action
from tenure.engine.actions import release_hold as release_hold_action
from tenure.engine.actions import requeue as requeue_action
from tenure.engine.actions import resolve as resolve_action
from tenure.engine.caller import Caller
from tenure.model.requests import (
    CancelSubject,
    ExpireLease,
    PlaceHold,
    ReleaseHold,
    RequeueSubject,
    ResolveDeadLetter,
    validated,
)
from tenure.model.result import ActionResult
from tenure.sdk.references import LeaseRef, SubjectRef, lease_uid, subject_uid, uid_of
from tenure.store.operation import Op


def hold(
    caller: Caller, /, subject: SubjectRef, *, reason: str, hold_code: str = "OPERATOR", **guards: Any
) -> Op[ActionResult]:
    """Stop the line for a subject."""
    request = validated(PlaceHold, subject=subject_uid(subject), reason=reason, hold_code=hold_code, **guards)
    return hold_action.hold(caller, request)


def release_hold(
    caller: Caller, /, subject: SubjectRef, *, hold: int | str | None = None, reason: str | None = None, **guards: Any
) -> Op[ActionResult]:
    """Let go of one hold, or of the only one."""
    which = uid_of(hold) if hold is not None else None
    request = validated(ReleaseHold, subject=subject_uid(subject), hold=which, reason=reason, **guards)
    return release_hold_action.release_hold(caller, request)


def requeue(caller: Caller, /, subject: SubjectRef, **fields: Any) -> Op[ActionResult]:
    """Route a subject (again); a terminal one needs ``reopen=True``."""
    return requeue_action.requeue(caller, validated(RequeueSubject, subject=subject_uid(subject), **fields))


def cancel(caller: Caller, /, subject: SubjectRef, **fields: Any) -> Op[ActionResult]:
    """End a subject for good."""
    return cancel_action.cancel(caller, validated(CancelSubject, subject=subject_uid(subject), **fields))


def resolve_dead_letter(caller: Caller, /, subject: SubjectRef, *, reason: str, **fields: Any) -> Op[ActionResult]:
    """Close the open dead letter of a subject without running it again."""
    request = validated(ResolveDeadLetter, subject=subject_uid(subject), reason=reason, **fields)
    return resolve_action.resolve(caller, request)


def expire_lease(
    caller: Caller, /, lease: LeaseRef, *, force: bool = False, reason: str | None = None, **guards: Any
) -> Op[ActionResult]:
    """Mark a lapsed lease EXPIRED; ``force`` (admin) ends a live one."""
    return expire_action.expire(
        caller, validated(ExpireLease, lease=lease_uid(lease), force=force, reason=reason, **guards)
    )


def sweep(caller: Caller, /, queue_key: str | None = None, limit: int = 500) -> Op[list[ActionResult]]:
    """Mark lapsed leases EXPIRED, of one queue or all; for observability only."""
    return expire_action.sweep(caller, queue_key, limit)
