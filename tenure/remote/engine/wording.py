"""What the product reads of a projection: one sentence, the result, the failure (design 04, ProjectionUpdate)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from tenure.model import fact_types as ft
from tenure.model.fact import Fact
from tenure.model.states import TRANSIENT, State
from tenure.remote.model.fields import ExecutionState, Failure, ProjectionState, ResultRef
from tenure.remote.model.projection import Projection

_LONGEST = 2000
CANCELED = "canceled"
"""The code of a failure that is a cancellation."""


def display_message(projection: Projection, node: str, failure: Failure | None) -> str:
    """One sentence for people."""
    if projection.state is ProjectionState.RUNNING:
        return f"Running on {node}."
    if projection.state is ProjectionState.SUCCEEDED:
        return f"Done on {node}."
    if failure is not None:
        if failure.code == CANCELED:
            return _short(f"Canceled: {failure.message}" if failure.message else "Canceled.")
        return _short(f"Failed on {node}: {failure.code}. {failure.message}".strip())
    if projection.source is ExecutionState.ACCEPTED:
        return f"Accepted by {node}; waits for its scheduler."
    return f"Waits for {node}."


def failure_of(projection: Projection, fact: Fact, details: Mapping[int, Mapping[str, Any]]) -> Failure | None:
    """Why it failed, from the fact of the subject that ended it."""
    if projection.state is not ProjectionState.FAILED:
        return None
    data = fact.data or {}
    if fact.state is State.CANCELED:
        return Failure(code=CANCELED, message=_short(str(data.get("reason", ""))), retryable=False)
    if fact.type == ft.FAILED:
        message = (details.get(fact.lease or 0) or {}).get("error_message")
        retryable = data.get("error_class") in TRANSIENT
        return Failure(code=data.get("error_code") or "failed", message=_short(message or ""), retryable=retryable)
    return Failure(code="lost", message="Its lease was ended and no attempt is left.", retryable=True)


def result_of(
    projection: Projection, fact: Fact, details: Mapping[int, Mapping[str, Any]], left: ResultRef | None = None
) -> ResultRef | None:
    """Where the results are, from what completed it; or what it ``left`` when it failed, its `stderr` among it."""
    if projection.state is ProjectionState.FAILED:
        return left if fact.type == ft.FAILED else None
    if projection.state is not ProjectionState.SUCCEEDED:
        return None
    told = details.get(fact.lease or 0) or {}
    for given in (told.get("result"), {"output_uri": told.get("result_ref")}):
        try:
            return ResultRef.model_validate(given)
        except ValidationError:
            continue
    return None


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
