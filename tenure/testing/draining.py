"""Runs a client's tasks in the test's own process until there is nothing to do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, overload

from tenure.sdk.client import AsyncTenure, Tenure
from tenure.sdk.worker import Worker


@overload
def drain(app: Tenure, **options: Any) -> Mapping[str, int]: ...
@overload
def drain(app: AsyncTenure, **options: Any) -> Coroutine[Any, Any, Mapping[str, int]]: ...
def drain(app: Tenure | AsyncTenure, **options: Any) -> Any:
    """Work until nothing can be claimed, and tell what was done: the worker's ``report``.

    Work that leads to more work is done, too. What falls due later is left: move the clock, then drain again. Options
    are those of ``WorkerOptions``. For an ``AsyncTenure`` it is to be awaited.
    """
    worker = Worker(app, drain=True, **options)
    if isinstance(app, AsyncTenure):
        return _served(worker)
    return asyncio.run(_served(worker))


async def _served(worker: Worker) -> Mapping[str, int]:
    await worker.serve()
    return worker.report()
