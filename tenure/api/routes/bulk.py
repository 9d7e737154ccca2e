"""Bulk submit: subjects as JSON Lines, streamed in and out, in constant memory (design 06, HTTP API)."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass
from typing import IO, Any

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse
from pydantic import ValidationError
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from tenure.api.authentication import GatewayOf, Submitter
from tenure.api.body import demand_media_type, parsed_json
from tenure.api.gateway import Gateway
from tenure.api.lines_of_json import lines_of
from tenure.api.problem import problem_of
from tenure.api.schemas.guards import IdempotencyKeyHeader
from tenure.api.schemas.submitting import SubmitBody
from tenure.api.streamed import Streamed
from tenure.engine.acting import Outcome
from tenure.engine.actions.submit import submit_many
from tenure.model.errors import StoreUnavailable, TenureError
from tenure.model.principal import Identity
from tenure.model.requests import SubmitSubject, invalid
from tenure.sdk.public_form import public

router = APIRouter(tags=["subjects"])

MEDIA_TYPE = "application/x-ndjson"
#: Lines of one transaction, and how many bytes of them at most.
_CHUNK = 500
_CHUNK_BYTES = 8 * 1024 * 1024
_IN_MEMORY = 1024 * 1024
_READ = 64 * 1024
_ONE_IN = {"queue_key": "thumbnails", "properties": {"path": "a.png"}, "idempotency_key": "a.png"}
_ONE_OUT = {
    "line": 1,
    "result": {"action": "submit_subject", "subject": "SX-YGJ24", "state": "READY", "revision": 1, "seq": 1,
               "at": "2026-03-01T12:00:00.000000+00:00", "queue_key": "thumbnails", "replayed": False},
}  # fmt: skip


@dataclass(slots=True)
class _Line:
    number: int
    size: int
    asked: SubmitSubject | TenureError


@router.post(
    "/subjects:bulk", operation_id="submit_subjects", summary="Create many subjects from JSON Lines",
    response_class=StreamingResponse,
    openapi_extra={"requestBody": {
        "required": True,
        "description": "One subject a line, each as for POST /subjects.",
        "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "ndjson"}, "example": to_json(_ONE_IN).decode() + "\n"}},
    }},
    responses={200: {
        "description": "One line for each line of the request, in order: `line` and either `result` or `problem`.",
        "content": {MEDIA_TYPE: {"schema": {"type": "string", "format": "ndjson"}, "example": to_json(_ONE_OUT).decode() + "\n"}},
    }},
)  # fmt: skip
async def submit_subjects(
    request: Request, identity: Submitter, gateway: GatewayOf, idempotency_key: IdempotencyKeyHeader = None
) -> StreamingResponse:
    """Lines are created in transactions of 500. A bad line is answered with its problem, and the others go on.

    A line may carry an ``idempotency_key``; with the header, a line without one has KEY:LINE. So a bulk that broke off can be
    sent again as it is. The answer comes when the last line was read: send it all, then read.
    """
    demand_media_type(request, MEDIA_TYPE, "application/jsonl", "application/json-lines", "application/jsonlines")
    longest = request.app.state.settings.max_line_bytes
    # The answers wait in a file: a client that does not read while it writes would otherwise stop both sides for good.
    answers: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed when it was sent
    try:
        await _submit_all(request.stream(), longest, idempotency_key, gateway, identity, answers)
    except BaseException:
        answers.close()
        raise
    answers.seek(0)
    return Streamed(_sent(answers), media_type=MEDIA_TYPE)


async def _submit_all(
    chunks: AsyncIterator[bytes],
    longest: int,
    key: str | None,
    gateway: Gateway,
    identity: Identity,
    answers: IO[bytes],
) -> None:
    waiting: list[_Line] = []
    size = number = 0
    broken: StoreUnavailable | None = None

    async def flush() -> None:
        nonlocal size, broken
        outcomes, broken = await _submit(waiting, gateway, identity, broken)
        text = b"".join(
            to_json({"line": line.number, **_told(outcome)}) + b"\n"
            for line, outcome in zip(waiting, outcomes, strict=True)
        )
        await run_in_threadpool(answers.write, text)
        waiting.clear()
        size = 0

    async for line in lines_of(chunks, longest):
        number += 1
        if isinstance(line, bytes) and not line.strip():
            continue
        waiting.append(_parsed(number, line, key))
        size += waiting[-1].size
        if len(waiting) >= _CHUNK or size >= _CHUNK_BYTES:
            await flush()
    if waiting:
        await flush()


def _parsed(number: int, line: bytes | TenureError, key: str | None) -> _Line:
    if isinstance(line, TenureError):
        return _Line(number, 0, line)
    try:
        body = SubmitBody.model_validate(parsed_json(line, "The line"))
        own = body.idempotency_key
        if own is None and key is not None:
            own = f"{key}:{number}"
        return _Line(number, len(line), body.request(own))
    except ValidationError as error:
        return _Line(number, len(line), invalid(error, "subject"))
    except TenureError as error:
        return _Line(number, len(line), error)


async def _submit(
    lines: list[_Line], gateway: Gateway, identity: Identity, broken: StoreUnavailable | None
) -> tuple[list[Outcome], StoreUnavailable | None]:
    """What became of each; once the database is gone, nothing more is tried."""
    asked = [line.asked for line in lines if isinstance(line.asked, SubmitSubject)]
    done: list[Outcome] = []
    if asked and broken is None:
        try:
            done = list(await gateway.perform(identity, lambda caller: submit_many(caller, asked)))
        except StoreUnavailable as error:
            broken = error
        except TenureError:
            # One of them the database refuses as a whole set: each by itself, so that only that one is answered with it.
            done = [await _alone(request, gateway, identity) for request in asked]
    if broken is not None:
        done = [broken for _ in asked]
    rest = iter(done)
    return [next(rest) if isinstance(line.asked, SubmitSubject) else line.asked for line in lines], broken


async def _alone(request: SubmitSubject, gateway: Gateway, identity: Identity) -> Outcome:
    try:
        return (await gateway.perform(identity, lambda caller: submit_many(caller, [request])))[0]
    except TenureError as error:
        return error


def _told(outcome: Outcome) -> dict[str, Any]:
    if isinstance(outcome, TenureError):
        return {"problem": problem_of(outcome)}
    return {"result": public(outcome)}


async def _sent(answers: IO[bytes]) -> AsyncGenerator[bytes]:
    try:
        while piece := await run_in_threadpool(answers.read, _READ):
            yield piece
    finally:
        answers.close()
