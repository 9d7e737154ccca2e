"""Answers that say no, as the errors that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from tenure.model.errors import Forbidden, RateLimited, StoreUnavailable, TenureError, Unauthenticated


class TurnedAway(TenureError):
    """The server does not let this credential in, or not do this: asking again is of no use."""

    code = "turned_away"
    status = 401


class ServerFailed(StoreUnavailable):
    """The server failed at this request; it may fail at it again."""

    code = "internal_error"
    status = 500


class Refusal(TenureError):
    """A refusal with a code that this version does not know."""

    code = "refused"
    status = 400


def problem_of(status: int, content: bytes) -> TenureError:
    """The error behind an answer that is no success."""
    try:
        body = from_json(content)
    except ValueError:
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("code"), str):
        return _by_status(status)
    return told(body)


def told(problem: Mapping[str, Any]) -> TenureError:
    """The error that a problem tells of."""
    code, status = problem.get("code"), int(problem.get("status") or 400)
    message, hint = str(problem.get("detail") or ""), str(problem.get("hint") or "")
    evidence = {str(name): value for name, value in (problem.get("evidence") or {}).items()}
    for name in ("message", "hint", "self"):
        evidence.pop(name, None)
    kind = _classes().get(str(code))
    if kind is None:
        if status >= 500:
            return (
                ServerFailed(message, hint, **evidence)
                if status == 500
                else StoreUnavailable(message, hint, **evidence)
            )
        error: TenureError = Refusal(message, hint, **evidence)
        error.code, error.status = str(code), status  # type: ignore[misc]
        return error
    return kind(message, hint, **evidence)


def barred(error: TenureError) -> bool:
    """Whether it says that the credential is no good for this, not that the request is."""
    return isinstance(error, Unauthenticated) or type(error) is Forbidden


def seconds_to_wait(error: TenureError, header: str | None) -> float | None:
    """For how long the server asks to be left alone; None where it does not."""
    if header is not None and header.strip().isdigit():
        return float(header)
    return float(error.evidence.get("retry_after", 1)) if isinstance(error, RateLimited) else None


def _by_status(status: int) -> TenureError:
    """Something in between answered, or another server altogether."""
    if status == 401:
        return Unauthenticated("The server, or a proxy before it, does not know the credential.", "Check the token.")
    if status == 403:
        return Forbidden("The server, or a proxy before it, forbids it.", "Check URL and token.")
    if status == 429:
        return RateLimited("Too many requests.", "It is tried again.")
    if status == 500:
        return ServerFailed("The server failed and did not say why.", "It is tried again.")
    if status > 500:
        return StoreUnavailable(f"The server is away: a proxy answered {status}.", "It is tried again.")
    return Refusal(f"The server answered {status}, which is no answer of Tenure's.", "Check the URL.", status=status)


def _classes() -> dict[str, type[TenureError]]:
    found: dict[str, type[TenureError]] = {}
    todo: list[type[TenureError]] = [TenureError]
    while todo:
        kind = todo.pop()
        found.setdefault(kind.code, kind)
        todo.extend(kind.__subclasses__())
    return found
