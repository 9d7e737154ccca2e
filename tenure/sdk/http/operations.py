"""What a client can do over HTTP, by the names and with the arguments that it has with a database."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json

from tenure.engine.acting import Outcome
from tenure.model import euid
from tenure.model.errors import InvalidRequest
from tenure.model.json_text import instant
from tenure.model.requests import (
    CancelSubject,
    PlaceHold,
    ReleaseHold,
    RequeueSubject,
    ResolveDeadLetter,
    SubmitSubject,
    validated,
)  # fmt: skip
from tenure.model.result import ActionResult
from tenure.model.visibility import Reason
from tenure.sdk.http import answers, submissions
from tenure.sdk.http.call import Call
from tenure.sdk.http.runs import RUN_OPERATIONS
from tenure.sdk.references import SubjectRef, subject_uid, uid_of

_LINES = "application/x-ndjson"


class NotOverHttp(InvalidRequest):
    """What only a client that is connected to the database can do."""

    code = "not_over_http"


def remote(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Call[Any]:
    """The request that stands for a method of the client. Raises NotOverHttp where there is none."""
    make = _OPERATIONS.get(name)
    if make is None:
        raise NotOverHttp(
            f"This client reaches Tenure over HTTP, where it has no {name}.",
            f"It has {', '.join(sorted(_OPERATIONS))}; for all else give it a DSN, or use the HTTP API itself.",
        )
    return make(*args, **kwargs)


def submit(**request: Any) -> Call[ActionResult]:
    """Create a subject and enqueue it. Without a key it gets one, so that it may be sent again."""
    return submit_one(validated(SubmitSubject, **request))


def submit_one(request: SubmitSubject) -> Call[ActionResult]:
    """The same from a request."""
    key = request.idempotency_key or secrets.token_urlsafe(16)
    return Call("POST", "/subjects", answers.result, _subject(request), key)


def submit_many(requests: Iterable[Mapping[str, Any] | SubmitSubject]) -> Call[list[Outcome]]:
    """Create many; a result or an error for each."""
    parsed = [r if isinstance(r, SubmitSubject) else validated(SubmitSubject, **r) for r in requests]
    lines = b"".join(to_json(_subject(request)) + b"\n" for request in parsed)
    return Call("POST", "/subjects:bulk", _outcomes, lines, secrets.token_urlsafe(16), media_type=_LINES)


def _outcomes(lines: list[Any]) -> list[Outcome]:
    return [answers.outcome(line) for line in sorted(lines, key=lambda line: line["line"])]


def _subject(request: SubmitSubject) -> dict[str, Any]:
    said = _said(request, "parents")
    if request.parents:
        said["parent_euids"] = [euid.format_euid(euid.SUBJECT, uid) for uid in request.parents]
    return said


def hold(subject: SubjectRef, *, reason: str, hold_code: str = "OPERATOR", **guards: Any) -> Call[ActionResult]:
    """Stop the line for a subject."""
    return _act(
        "hold", validated(PlaceHold, subject=subject_uid(subject), reason=reason, hold_code=hold_code, **guards)
    )


def release_hold(
    subject: SubjectRef, *, hold: int | str | None = None, reason: str | None = None, **guards: Any
) -> Call[ActionResult]:
    """Let go of one hold, or of the only one."""
    which = uid_of(hold) if hold is not None else None
    besides = {"hold_euid": euid.format_euid(euid.HOLD, which)} if which is not None else {}
    request = validated(ReleaseHold, subject=subject_uid(subject), reason=reason, **guards)
    return _act("release-hold", request, **besides)


def requeue(subject: SubjectRef, **fields: Any) -> Call[ActionResult]:
    """Route a subject (again)."""
    return _act("requeue", validated(RequeueSubject, subject=subject_uid(subject), **fields))


def cancel(subject: SubjectRef, **fields: Any) -> Call[ActionResult]:
    """End a subject for good."""
    return _act("cancel", validated(CancelSubject, subject=subject_uid(subject), **fields))


def resolve_dead_letter(subject: SubjectRef, *, reason: str, **fields: Any) -> Call[ActionResult]:
    """Close the open dead letter of a subject."""
    return _act(
        "resolve-dead-letter", validated(ResolveDeadLetter, subject=subject_uid(subject), reason=reason, **fields)
    )


def why(subject: SubjectRef) -> Call[list[Reason]]:
    """Exact reasons for which a subject is not moving, or who could take it."""
    path = f"/subjects/{euid.format_euid(euid.SUBJECT, subject_uid(subject))}/why"
    return Call("GET", path, lambda shown: [Reason(**reason) for reason in shown["reasons"]])


def _act(
    action: str, request: PlaceHold | ReleaseHold | RequeueSubject | CancelSubject | ResolveDeadLetter, **besides: Any
) -> Call[ActionResult]:
    body = {"subject_euid": euid.format_euid(euid.SUBJECT, request.subject), **_said(request, "subject"), **besides}
    key = request.idempotency_key or secrets.token_urlsafe(16)
    return Call("POST", f"/actions/{action}", answers.result, body | {"idempotency_key": key}, key)


def _said(request: BaseModel, *apart: str) -> dict[str, Any]:
    said = request.model_dump(exclude_unset=True, exclude_none=True, exclude=set(apart))
    return {name: instant(value) if hasattr(value, "astimezone") else value for name, value in said.items()}


_OPERATIONS: dict[str, Callable[..., Call[Any]]] = (
    {
        make.__name__: make
        for make in (submit, submit_many, hold, release_hold, requeue, cancel, resolve_dead_letter, why)
    }
    | submissions.OPERATIONS
    | RUN_OPERATIONS
)
