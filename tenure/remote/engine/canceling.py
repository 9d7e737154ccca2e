"""cancel_submission: the product takes a submission back (decision 13)."""

from __future__ import annotations

from tenure.engine.actions import cancel as canceling
from tenure.engine.caller import Caller
from tenure.model.requests import CancelSubject
from tenure.remote.engine.reading import SubmissionStanding, standing
from tenure.store.operation import Op


def cancel_submission(
    caller: Caller, submission_id: str, reason: str | None = None, idempotency_key: str | None = None
) -> Op[SubmissionStanding]:
    """End it for good: its projection is `failed` with the code `canceled`, and the node ends its job at its next poll.

    Raises SubmissionNotFound, and InvalidTransition where it has ended already.
    """
    found = yield from standing(caller, submission_id)
    request = CancelSubject(subject=found.submission.subject, reason=reason, idempotency_key=idempotency_key)
    yield from canceling.cancel(caller, request)
    return (yield from standing(caller, submission_id))
