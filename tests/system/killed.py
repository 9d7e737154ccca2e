"""A worker in a process of its own that kills itself at one append to a run's journal."""

from __future__ import annotations

import asyncio
import os
import signal
from datetime import datetime
from typing import Any

import psycopg

from tenure.sdk.client import Tenure
from tenure.sdk.job import Job
from tenure.sdk.worker import Worker
from tenure.store.postgres.statements import text

QUEUE = "q"


def application(dsn: str, now: datetime) -> Tenure:
    """The tasks: each leaves one trace of its effect, under the subject's name, however often it is tried."""
    app = Tenure(dsn, clock=lambda: now, actor="user:ada", notify=False)

    def done(job: Job) -> None:
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(
                "insert into public.effect (subject, times) values (%s, 1) on conflict (subject) do nothing",
                [job.subject],
            )

    @app.task(queue=QUEUE, key="one")
    def one(job: Job, n: int) -> int:
        done(job)
        return n + 1

    @app.task(queue=QUEUE, key="square")
    def square(job: Job, n: int) -> int:
        done(job)
        return n * n

    @app.task(queue=QUEUE, key="bake")
    def bake(job: Job, n: int) -> int:
        done(job)
        return n

    @app.task(queue=QUEUE, key="both")
    def both(job: Job, a: Any, b: Any) -> list[Any]:
        done(job)
        return [a, b]

    return app


def work_until_killed(dsn: str, now: datetime, number: int, when: str) -> None:
    """Drain, and die at the ``number``-th append, before it is sent or after it was answered."""
    appends, seen = (text("journal_append"), text("hand_over")), 0
    execute = psycopg.AsyncCursor.execute

    async def watched(self: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal seen
        if query not in appends:
            return await execute(self, query, *args, **kwargs)
        seen += 1
        if (seen, when) == (number, "before"):
            os.kill(os.getpid(), signal.SIGKILL)
        answer = await execute(self, query, *args, **kwargs)
        if (seen, when) == (number, "after"):
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    psycopg.AsyncCursor.execute = watched  # type: ignore[method-assign]
    with application(dsn, now) as app:
        asyncio.run(Worker(app, drain=True, concurrency=1, prefetch=0, batch=1).serve())
