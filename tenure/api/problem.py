"""Errors as problem details (RFC 9457), with the stable code of each (design 06, HTTP API)."""

from __future__ import annotations

import logging
import math
import re
import secrets
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from tenure.engine.logging import where
from tenure.model.errors import RateLimited, TenureError, Unauthenticated
from tenure.sdk.public_form import public

_log = logging.getLogger("tenure.api")
MEDIA_TYPE = "application/problem+json"


class Problem(BaseModel):
    """What every refusal looks like. ``code`` is stable; ``detail`` says what happened, ``hint`` what to do next."""

    model_config = ConfigDict(extra="allow")

    type: str = Field("about:blank", examples=["about:blank"])
    title: str = Field(examples=["Conflict"])
    status: int = Field(examples=[409])
    code: str = Field(examples=["lease_expired"])
    detail: str = Field(examples=["The lease ran out at 2026-11-28T10:00:00Z."])
    hint: str = Field("", examples=["Claim the subject again."])
    evidence: dict[str, Any] = Field(default_factory=dict)


def described(status: int, code: str, detail: str, hint: str = "", evidence: Any = None) -> dict[str, Any]:
    """A problem as plain data."""
    return {
        "type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "code": code, "detail": detail,
        "hint": hint, "evidence": public(dict(evidence or {})),
    }  # fmt: skip


def problem_of(error: TenureError) -> dict[str, Any]:
    """An error that Tenure raised on purpose, as plain data."""
    return described(error.status, error.code, error.message, error.hint, error.evidence)


def problem(
    status: int, code: str, detail: str, hint: str = "", evidence: Any = None, headers: dict[str, str] | None = None
) -> JSONResponse:
    """The response."""
    return JSONResponse(described(status, code, detail, hint, evidence), status, headers, media_type=MEDIA_TYPE)


def refused(error: TenureError) -> JSONResponse:
    """The response to an error that Tenure raised on purpose."""
    headers = {}
    if isinstance(error, RateLimited):
        headers["Retry-After"] = str(max(1, math.ceil(error.evidence.get("retry_after", 1))))
    elif isinstance(error, Unauthenticated):
        headers["WWW-Authenticate"] = "Bearer"
    elif error.status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(max(1, math.ceil(error.evidence.get("retry_after", 1))))
    return problem(error.status, error.code, error.message, error.hint, error.evidence, headers)


def install(application: FastAPI) -> None:
    """Answer every error of the application as a problem."""

    @application.exception_handler(TenureError)
    async def _tenure(_: Request, error: TenureError) -> JSONResponse:
        return refused(error)

    @application.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        problems = [{"field": ".".join(map(str, e["loc"])), "problem": e["msg"]} for e in error.errors()]
        naive = any(e["type"] == "timezone_aware" for e in error.errors())
        return problem(
            400, "naive_datetime" if naive else "invalid_request", f"{problems[0]['field']}: {problems[0]['problem']}.",
            "Correct the request and send it again; nothing was changed.", {"problems": problems},
        )  # fmt: skip

    @application.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED and (allowed := _allowed(application, request.url.path)):
            headers = {"Allow": ", ".join(allowed)}
        return problem(error.status_code, code, str(error.detail), "See the API reference at /docs.", headers=headers)

    @application.exception_handler(Exception)
    async def _unexpected(_: Request, error: Exception) -> JSONResponse:
        return unexpected(error)


def unexpected(error: Exception) -> JSONResponse:
    """The response to a defect of ours: a person gets a number to tell us, never a stack trace.

    The log gets the number, class and place: the message of an error may quote a payload or a row.
    """
    incident = secrets.token_hex(6)
    _log.error("Incident %s: a request failed unexpectedly: %s", incident, where(error))
    return problem(
        500, "internal_error", f"Something went wrong that should not. Incident {incident}.",
        "Try again; if it stays, give the number to whoever runs this server: the log has the details.",
    )  # fmt: skip


def _allowed(application: FastAPI, path: str) -> list[str]:
    """The methods of all routes of a path: Starlette names those of the first one only."""
    found: set[str] = set()
    for template, item in application.openapi()["paths"].items():
        pattern = re.escape(template).replace(r"\{queue_key\}", ".+")  # the only one that may hold slashes
        if re.fullmatch(re.sub(r"\\\{[^}]*\\\}", "[^/]+", pattern), path):
            found |= {method.upper() for method in item}
    return sorted(found)
