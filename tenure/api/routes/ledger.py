"""The ledger: its facts by position, and as a live stream (design 05, Out; design 06, HTTP API)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import Field
from pydantic_core import to_json

from tenure.api import cursor
from tenure.api.answers import Answer
from tenure.api.authentication import Observer
from tenure.api.body import JsonRoute
from tenure.api.live.event import Wanted, event
from tenure.api.live.following import Following
from tenure.api.schemas.fact import Event
from tenure.api.schemas.fields import SubjectEuid
from tenure.api.schemas.page import CursorParameter, Limit, Page
from tenure.api.streamed import Streamed
from tenure.model.principal import Identity
from tenure.model.queue import Key

router = APIRouter(tags=["ledger"], route_class=JsonRoute)

Position = Annotated[int, Field(ge=0, lt=2**63)]
_STREAM = "text/event-stream"
_EXAMPLE = """\
id: 4711
event: execution.completed
data: {"position": 4711, "type": "execution.completed", "thread": "SX-YGJ24", "seq": 3, "state": "COMPLETED"}

"""


class LedgerPage(Page[Event]):
    """One page of the ledger."""

    position: Position = Field(description="Up to here it was read. To go on from here later, send it as `after`.")


@router.get("/facts", operation_id="list_facts", summary="The ledger by position", response_model=LedgerPage)
async def list_facts(
    request: Request, identity: Observer,
    after: Annotated[Position, Query(description="After this position.", examples=[0])] = 0,
    limit: Limit = 100, cursor_: CursorParameter = None,
) -> Answer:  # fmt: skip
    """All facts of the tenant in the order of the ledger, without gaps: what is still being written comes with a later page.

    To follow it, ask again with `after` set to `position`; or use /events.
    """
    following: Following = request.app.state.following
    begin = int(cursor.opened(cursor_, "ledger")[0]) if cursor_ else after
    safe = max(await following.safe(), begin)
    facts, position = await following.page(identity, begin, safe, limit)
    following_page = cursor.sealed([position], "ledger") if position < safe else None
    return Answer({"items": [event(fact) for fact in facts], "next": following_page, "position": position})


@router.get(
    "/events", operation_id="follow_events", summary="Live events", response_class=StreamingResponse,
    responses={200: {"description": "Server-sent events; `id` is the position, `event` the type, `data` an event as /facts has it.",
                     "content": {_STREAM: {"schema": {"type": "string"}, "example": _EXAMPLE}}}},
)  # fmt: skip
async def follow_events(
    request: Request, identity: Observer,
    queue_key: Annotated[Key | None, Query(description="Of this queue only.", examples=["extraction"])] = None,
    subject: Annotated[SubjectEuid | None, Query(alias="subject_euid", description="Of this subject only.")] = None,
    types: Annotated[list[Key] | None, Query(alias="type", max_length=100, description="Of these types only; repeat it.",
                                             examples=[["execution.completed"]])] = None,
    after: Annotated[Position | None, Query(description="From this position on; else from now on.")] = None,
    last_event_id: Annotated[Position | None, Header(alias="Last-Event-ID",
                                                     description="The same, as browsers send it when they reconnect.")] = None,
) -> StreamingResponse:  # fmt: skip
    """Facts as server-sent events, in order and without gaps. After a break, `Last-Event-ID` goes on exactly where it was.

    A sign of life comes every few seconds. When the server stops, the stream ends: connect again.
    """
    wanted = Wanted(queue_key, subject, frozenset(types) if types else None)
    begin = last_event_id if last_event_id is not None else after
    stream = _stream(request.app.state.following, identity, wanted, begin, request.app.state.settings.heartbeat_seconds)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return Streamed(stream, media_type=_STREAM, headers=headers)


async def _stream(
    following: Following, identity: Identity, wanted: Wanted, after: int | None, heartbeat: float
) -> AsyncGenerator[bytes]:
    yield b"retry: 2000\n\n"
    async with aclosing(following.listen(identity, after, heartbeat)) as listening:
        async for facts, position in listening:
            told = [_told(event(fact)) for fact in facts if fact in wanted]
            # The position that was reached counts as seen, too, although there was nothing to tell.
            yield b"".join(told) if told else f": {position}\nid: {position}\n\n".encode()


def _told(shown: dict[str, Any]) -> bytes:
    return f"id: {shown['position']}\nevent: {shown['type']}\ndata: ".encode() + to_json(shown) + b"\n\n"
