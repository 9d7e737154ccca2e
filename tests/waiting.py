"""Waiting for what other threads and processes bring about; what a clock brings about, a test moves the clock for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any


def until(condition: Callable[[], Any], seconds: float = 30, told: Callable[[], str] = lambda: "") -> Any:
    """What ``condition`` gives as soon as that is true. Fails after ``seconds``, with what is ``told``."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"it did not happen within {seconds:.0f} s. {told()}"
        time.sleep(0.02)
    return found


async def until_async(condition: Callable[[], Any], seconds: float = 30) -> Any:
    """The same while an event loop goes on; ``condition`` is asked in a thread."""
    deadline = time.monotonic() + seconds
    while not (found := await asyncio.to_thread(condition)):
        assert time.monotonic() < deadline, f"it did not happen within {seconds:.0f} s."
        await asyncio.sleep(0.02)
    return found
