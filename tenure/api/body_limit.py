"""Ends requests whose body is too large, however it comes: announced, or in chunks without end."""

from __future__ import annotations

from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenure.api.problem import refused
from tenure.model.errors import TenureError

#: Where bodies are read as they come and never kept: only a line is limited there.
STREAMED = frozenset({"/api/v1/execution/subjects:bulk"})


_ANONYMOUS = 64 * 1024


class BodyTooLarge(TenureError):
    """The body is larger than the server takes."""

    code = "body_too_large"
    status = 413


def too_large(most: int, what: str = "The body") -> BodyTooLarge:
    """The error."""
    return BodyTooLarge(
        f"{what} is larger than {most:,} bytes.",
        "Send less at once: many subjects go to subjects:bulk, large payloads to a store of yours, with a payload_ref.",
        max_bytes=most,
    )  # fmt: skip


class BodyLimit:
    """ASGI middleware: whatever the application makes of a body that goes on too long, the answer is a problem 413."""

    def __init__(self, app: ASGIApp, *, most: int) -> None:
        self._app = app
        self._most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request."""
        if scope["type"] != "http" or scope["path"] in STREAMED:
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        # A body is read before it is known who sends it: from those who do not even say, only a little.
        says_who = b"authorization" in headers or b"cookie" in headers
        most = self._most if says_who else min(self._most, _ANONYMOUS)
        announced = headers.get(b"content-length", b"0")
        if announced.isdigit() and int(announced) > most:
            await self._refuse(most, scope, receive, send)
            return
        read, exceeded, answered = 0, False, False

        async def counted() -> Message:
            nonlocal read, exceeded
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                exceeded = True
                raise too_large(most)
            return message

        async def guarded(message: Message) -> None:
            nonlocal answered
            if exceeded and not answered:
                return
            answered = True
            await send(message)

        try:
            await self._app(scope, counted, guarded)
        except BodyTooLarge:
            if not exceeded:
                raise
        if exceeded and not answered:
            await self._refuse(most, scope, receive, send)

    async def _refuse(self, most: int, scope: Scope, receive: Receive, send: Send) -> None:
        response: Any = refused(too_large(most))
        response.headers["connection"] = "close"
        await response(scope, receive, send)
