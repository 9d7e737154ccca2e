"""A line to the server that can go dead without either side being told."""

from __future__ import annotations

import asyncio
import contextlib


class Proxy:
    """Forwards TCP to the server until it is told to stop, without a word to either side."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._forwards = asyncio.Event()
        self._forwards.set()
        self.connections = 0

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()

    def stop_forwarding(self) -> None:
        self._forwards.clear()

    def forward(self) -> None:
        self._forwards.set()

    async def _accept(self, reader, writer):
        self.connections += 1
        with contextlib.suppress(OSError):
            upstream = await asyncio.open_connection(*self._target)
            await asyncio.gather(self._pump(reader, upstream[1]), self._pump(upstream[0], writer))

    async def _pump(self, reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._forwards.wait()
                writer.write(data)
                await writer.drain()
        writer.close()
