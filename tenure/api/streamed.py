"""An answer that is sent as it comes, and whose source ends when whoever asked has hung up."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

from fastapi.responses import StreamingResponse
from starlette.types import Send


class Streamed(StreamingResponse):
    """Closes the generator that it sends at once: Starlette leaves that to the garbage collector, which may take its time."""

    body_iterator: AsyncIterator[bytes]

    def __init__(
        self, stream: AsyncGenerator[bytes], *, media_type: str, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(stream, media_type=media_type, headers=headers)
        self._stream = stream

    async def stream_response(self, send: Send) -> None:
        """Send it all, or until nobody listens any more."""
        async with aclosing(self._stream):
            await super().stream_response(send)
