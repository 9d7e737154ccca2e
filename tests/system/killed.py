"""A process that starts runs and works on them, and kills itself at one of its appends.

An append is whatever leaves something behind in the database: a statement that inserts, updates or deletes, by itself or by
a function that it calls, and every commit. Which these are is read off the statements and the functions that there are;
how many there are in the life of a process is counted by one that lives.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from multiprocessing.connection import Connection
from typing import Any

import psycopg

from tenure.flow.engine.results import RunResult
from tenure.sdk.client import Tenure
from tenure.sdk.job import Job
from tenure.sdk.worker import Worker
from tenure.store.postgres.statements import names, text

QUEUE = "q"
#: What one run does to the world, by the names of its tasks; and each is shipped, in the transaction of that step.
EFFECTS = {"order": ("bake", "kept", "reserve", "square", "square"), "note": ()}
_WRITES = re.compile(r"\b(insert\s+into|update\s+(tenure|public)\.|delete\s+from)|^\s*commit\b", re.IGNORECASE)


@dataclass(frozen=True)
class Life:
    """One process: the runs that it starts, and the append at which it dies, ``before`` it is sent or ``after`` its answer."""

    dsn: str
    now: datetime
    runs: Sequence[tuple[str, str]] = ()
    """Each as workflow and key."""
    number: int | None = None
    when: str = "before"
    kind: str | None = None
    """Instead of a number: the first append of this statement."""


@dataclass
class Counted:
    """Counts the appends of this process, by what is sent, and dies at one of them."""

    life: Life
    functions: re.Pattern[str]
    told: Connection
    seen: list[str] = field(default_factory=list)
    _lock: Any = field(default_factory=threading.Lock)
    _known: dict[str, bool] = field(default_factory=dict)

    def watch(self) -> None:
        """Watch both kinds of connections."""
        counted = self
        execute, execute_async = psycopg.Cursor.execute, psycopg.AsyncCursor.execute

        def watched(cursor: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
            place = counted.enters(query)
            answer = execute(cursor, query, *args, **kwargs)
            counted.leaves(place)
            return answer

        async def watched_async(cursor: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
            place = counted.enters(query)
            answer = await execute_async(cursor, query, *args, **kwargs)
            counted.leaves(place)
            return answer

        psycopg.Cursor.execute = watched  # type: ignore[method-assign]
        psycopg.AsyncCursor.execute = watched_async  # type: ignore[method-assign]

    def enters(self, query: Any) -> int | None:
        """Nothing of this has left the process yet. The place of an append whose answer it is to die of."""
        sent = query.decode() if isinstance(query, bytes) else str(query)
        with self._lock:
            if sent not in self._known:
                self._known[sent] = _WRITES.search(sent) is not None or self.functions.search(sent) is not None
            if not self._known[sent]:
                return None
            self.seen.append(name_of(sent))
            place = len(self.seen)
            dies = place == self.life.number or self.seen[-1] == self.life.kind
        if not dies:
            return None
        if self.life.when == "before":
            self._die()
        return place

    def leaves(self, place: int | None) -> None:
        """It was answered, and nobody here knows yet."""
        if place is not None:
            self._die(place)

    def _die(self, place: int | None = None) -> None:
        self.told.send(self.seen[:place])
        os.kill(os.getpid(), signal.SIGKILL)


_FILES = {text(name): name for name in names()}


def name_of(sent: str) -> str:
    """A statement by its file, or by its first words."""
    return _FILES.get(sent) or " ".join(sent.split()[:3])


def writing_functions(dsn: str) -> re.Pattern[str]:
    """A call of any function of the database that leaves something behind."""
    with psycopg.connect(dsn) as connection:
        rows = connection.execute(
            """select p.proname, p.prosrc from pg_proc p
            where p.pronamespace = 'tenure'::regnamespace and p.prorettype <> 'trigger'::regtype"""
        ).fetchall()
    names = [name for name, source in rows if source and _WRITES.search(source)]
    return re.compile(rf"\btenure\.({'|'.join(names)})\(")


def application(dsn: str, clock: Callable[[], datetime]) -> Tenure:
    """The tasks. Each counts how often it was done, under what is done once: the subject."""
    outside: list[psycopg.Connection[Any]] = []
    lock = threading.Lock()
    app = Tenure(dsn, clock=clock, actor="user:ada", notify=False)

    def done(job: Job, what: str) -> None:
        with lock:
            if not outside:
                outside.append(psycopg.connect(dsn, autocommit=True))
            outside[0].execute(
                "insert into public.effect (subject, what) values (%s, %s)"
                " on conflict (subject) do update set tries = effect.tries + 1",
                [job.subject, what],
            )

    def task(key: str) -> Callable[[Callable[..., Any]], Any]:
        return app.task(queue=QUEUE, key=key)

    @task("reserve")
    def reserve(job: Job, n: int) -> int:
        done(job, "reserve")
        return n + 1

    @task("square")
    def square(job: Job, n: int) -> int:
        done(job, "square")
        return n * n

    @task("bake")
    def bake(job: Job, n: int) -> int:
        done(job, "bake")
        return n

    @task("kept")
    def kept(job: Job, n: int) -> list[int]:
        done(job, "kept")
        return [job.step("first", lambda: n), job.step("second", lambda: n + 1)]

    @task("ship")
    def ship(job: Job, parts: Any, tx: psycopg.Connection[Any]) -> Any:
        tx.execute(
            "insert into public.shipment values (%s)", [job.subject]
        )  # commits with the step's end, or not at all
        return parts

    return app


def live(life: Life, told: Connection) -> None:
    """Start the runs, say what they wait for, work until nothing is left; tell which appends that took."""
    counted = Counted(life, writing_functions(life.dsn), told)
    counted.watch()
    with application(life.dsn, lambda: life.now) as app:
        begin(app, life.runs)
        # What is swept by the wall clock is none of the appends that each life has.
        asyncio.run(Worker(app, drain=True, concurrency=2, sweep_interval=3600).serve())
    told.send(counted.seen)


def begin(app: Tenure, runs: Sequence[tuple[str, str]]) -> None:
    """Start runs, and give them what they wait for; whoever does it again changes nothing."""
    started = app.start_runs([{"workflow": workflow, "key": key, "input": {"n": len(key)}} for workflow, key in runs])
    for run, (workflow, key) in zip(started, runs, strict=True):
        assert isinstance(run, RunResult)
        if workflow == "order":
            app.signal_run(run, "paid", {"by": key}, idempotency_key=f"paid {key}")
