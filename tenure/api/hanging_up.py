"""Notices that a client has hung up."""

from __future__ import annotations

from fastapi import Request


async def hung_up(request: Request) -> None:
    """Return when the client is gone. To be awaited once the body has been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
