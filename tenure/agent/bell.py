"""Wakes what waits: a loop in a thread, or a task of an event loop."""

from __future__ import annotations

import asyncio
import threading


class Bell:
    """Rung by anybody, heard once by whoever waits."""

    def __init__(self) -> None:
        self._rung = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._heard = asyncio.Event()

    def ring(self) -> None:
        """Wake who waits, or who is about to."""
        self._rung.set()
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._heard.set)

    def wait(self, timeout: float) -> None:
        """In a thread: until it is rung, at most ``timeout`` seconds."""
        self._rung.wait(max(timeout, 0.0))
        self._rung.clear()

    async def heard(self, at_most: float | None = None) -> None:
        """In an event loop, always the same: until it is rung, at most so many seconds."""
        self._loop = asyncio.get_running_loop()
        if self._rung.is_set():
            self._heard.set()
        try:
            async with asyncio.timeout(None if at_most is None else max(at_most, 0.0)):
                await self._heard.wait()
        except TimeoutError:
            pass
        self._rung.clear()
        self._heard.clear()
