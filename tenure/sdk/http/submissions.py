"""What a client can do with submissions over HTTP, by the names and with the arguments that it has with a database."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

from tenure.model.requests import validated
from tenure.remote.model.contracts import SubmissionAccepted, SubmitJobCommand
from tenure.remote.model.shown import SubmissionHistoryShown, SubmissionStanding
from tenure.sdk.http.call import Call

_PREFIX = "/api/v1/remote"


def submit_job(command: SubmitJobCommand | Mapping[str, Any]) -> Call[SubmissionAccepted]:
    """Submit a job to a management node; its own key lets it be sent again."""
    given = command if isinstance(command, SubmitJobCommand) else validated(SubmitJobCommand, **dict(command))
    read = SubmissionAccepted.model_validate
    return Call("POST", "/submissions", read, given.wire(), secrets.token_urlsafe(16), prefix=_PREFIX)


def submission(submission_id: str) -> Call[SubmissionStanding]:
    """A submission as it stands, with its executions."""
    return Call("GET", f"/submissions/{submission_id}", SubmissionStanding.model_validate, prefix=_PREFIX)


def submission_history(submission_id: str) -> Call[SubmissionHistoryShown]:
    """What crossed the border for a submission, in order."""
    path = f"/submissions/{submission_id}/history"
    return Call("GET", path, SubmissionHistoryShown.model_validate, prefix=_PREFIX)


def cancel_submission(
    submission_id: str, *, reason: str | None = None, idempotency_key: str | None = None
) -> Call[SubmissionStanding]:
    """Take a submission back."""
    key = idempotency_key or secrets.token_urlsafe(16)
    body = {"reason": reason, "idempotency_key": key}
    path = f"/submissions/{submission_id}/cancel"
    return Call("POST", path, SubmissionStanding.model_validate, body, key, prefix=_PREFIX)


OPERATIONS: dict[str, Callable[..., Call[Any]]] = {
    make.__name__: make for make in (submit_job, submission, submission_history, cancel_submission)
}
