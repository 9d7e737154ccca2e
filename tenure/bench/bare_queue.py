"""The plainest queue in SQL: one table, no evidence, no leases. What a server can do at most with such a design."""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg

BATCH = 100

_TABLE = """
create schema if not exists bare;
drop table if exists bare.job;
create table bare.job (
    id bigint generated always as identity primary key, done boolean, claimed_at timestamptz, finished_at timestamptz,
    arguments jsonb not null default '{}');
create index on bare.job (id) where done is null;
"""
_CLAIM = """
update bare.job set done = false, claimed_at = now()
where id in (select id from bare.job where done is null order by id for update skip locked limit %s)
returning id, arguments
"""
_COMPLETE = "update bare.job set done = true, finished_at = now() where id = any(%s)"
_INSERT = "insert into bare.job (arguments) select unnest(%s::jsonb[])"
_INSERT_ONE = "insert into bare.job (arguments) values ('{}')"
_CHANNEL = "bare_job"
_INSERT_AND_NOTIFY = """
with made as (insert into bare.job (arguments) values ('{}') returning id) select pg_notify('bare_job', '') from made
"""


class BareQueue:
    """The table and the loops over it, on one connection with fsync as the server has it."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: psycopg.Connection[Any] = psycopg.connect(dsn, autocommit=True)

    def fresh(self) -> None:
        """Begin with an empty table."""
        self._connection.execute(_TABLE)

    def submit(self, jobs: int, batch: int) -> None:
        """Insert ``jobs`` rows, ``batch`` in a statement."""
        for start in range(0, jobs, batch):
            rows = [f'{{"number": {number}}}' for number in range(start, min(start + batch, jobs))]
            self._connection.execute(_INSERT, [rows])

    def submit_one_by_one(self, jobs: int) -> None:
        """Insert ``jobs`` rows, each in a transaction of its own."""
        for _ in range(jobs):
            self._connection.execute(_INSERT_ONE)

    def drain(self) -> int:
        """Claim a hundred, complete a hundred, until nothing is left; how many it were."""
        done = 0
        while rows := self._connection.execute(_CLAIM, [BATCH], prepare=True).fetchall():
            self._connection.execute(_COMPLETE, [[row[0] for row in rows]], prepare=True)
            done += len(rows)
        return done

    def latencies(self, jobs: int, pause: float) -> list[float]:
        """Seconds from before an insert until a listener has claimed the row, for ``jobs`` rows one after the other."""
        seen = threading.Event()
        ready = threading.Event()
        found: list[float] = []

        def listen() -> None:
            with psycopg.connect(self._dsn, autocommit=True) as connection:
                connection.execute(f"listen {_CHANNEL}")
                ready.set()
                taken = 0
                while taken < jobs:
                    for _ in connection.notifies(timeout=5, stop_after=1):
                        pass
                    taken += len(connection.execute(_CLAIM, [BATCH], prepare=True).fetchall())
                    found.append(time.perf_counter())
                    seen.set()

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        ready.wait(10)
        spent = []
        for _ in range(jobs):
            seen.clear()
            begin = time.perf_counter()
            self._connection.execute(_INSERT_AND_NOTIFY)
            seen.wait(10)
            spent.append(found[-1] - begin)
            time.sleep(pause)
        listener.join(10)
        return spent

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
