"""Worker processes that tests may kill, and what must hold when all is over."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tenure import Tenure

_ROOT = Path(__file__).parents[2]
SCRIPT = """
import asyncio, logging, sys
from tenure import Tenure, Worker
logging.basicConfig(level=logging.ERROR)
app = Tenure(sys.argv[1])

@app.task(queue="q", key="nothing")
async def nothing() -> None: ...

@app.task(queue="q", key="tiny")
async def tiny(number: int) -> int:
    await asyncio.sleep(0.003)
    return number

Worker(app, lease_ttl_seconds=2, concurrency=20, prefetch=20, batch=20, sweep_interval=0.5).run()
"""


class Processes:
    """Worker processes over one database."""

    def __init__(self, dsn: str, folder: Path) -> None:
        self._dsn = dsn
        self._log = folder / "workers.log"
        self.alive: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        environment = os.environ | {"PYTHONPATH": str(_ROOT)}
        with self._log.open("ab") as log:
            process = subprocess.Popen([sys.executable, "-c", SCRIPT, self._dsn], env=environment, stderr=log)
        self.alive.append(process)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        process.kill()
        process.wait(10)
        self.alive.remove(process)

    def stop(self) -> None:
        for process in self.alive:
            process.terminate()
        for process in self.alive:
            # One that was only just started does not listen to signals yet.
            assert process.wait(30) in (0, -signal.SIGTERM), self.log()

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Callable[[str], Processes]]:
    """Makes a set of worker processes, and sees that none outlives the test."""
    made: list[Processes] = []

    def make(dsn: str) -> Processes:
        made.append(Processes(dsn, tmp_path))
        return made[-1]

    yield make
    for each in made:
        for process in each.alive:
            process.kill()
            process.wait(10)


def submit_load(app: Tenure, count: int) -> list[int]:
    """Half of them do nothing, half a tiny bit; none gives up."""
    app.define_queue("q", max_attempts_default=1000, retry_policy={"initial_delay_seconds": 0})
    requests = [
        {"queue_key": "q", "next_action_key": "nothing"}
        if number % 2
        else {"queue_key": "q", "next_action_key": "tiny", "properties": {"number": number}}
        for number in range(count)
    ]
    return [outcome.subject for outcome in app.submit_many(requests)]


def completed(connection: psycopg.Connection[Any]) -> int:
    return connection.execute("select count(*) from tenure.execution where state = 'COMPLETED'").fetchone()[0]


def facts_counted(dsn: str) -> Counter[str]:
    """How many facts there are of each type, and how many requests were answered from before."""
    with psycopg.connect(dsn) as connection:
        counts: Counter[str] = Counter(
            dict(connection.execute("select type, count(*) from tenure.fact group by 1").fetchall())
        )
        replays = "select count(*) from tenure.refusal where code = 'idempotent_replay'"
        counts["replays"] = connection.execute(replays).fetchone()[0]
    return counts


def assert_each_done_once(dsn: str, subjects: list[int]) -> None:
    """Each subject COMPLETED by exactly one fact, none more, none dead, and every thread proves itself."""
    with psycopg.connect(dsn) as connection:
        done = dict(
            connection.execute(
                "select thread, count(*) from tenure.fact where type = 'execution.completed' group by 1"
            ).fetchall()
        )
        assert done == dict.fromkeys(subjects, 1)
        states = connection.execute("select state::text, count(*) from tenure.execution group by 1").fetchall()
        assert states == [("COMPLETED", len(subjects))]
        live = "select count(*) from tenure.attempt where lease_status = 'ACTIVE' or record_status = 'STARTED'"
        assert connection.execute(live).fetchone() == (0,)
        assert connection.execute("select count(*) from tenure.dead_letter").fetchone() == (0,)
    with Tenure(dsn) as app:
        report = app.verify(everything=True)
    assert report.clean, report
    assert report.subjects == len(subjects)
