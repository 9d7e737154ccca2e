"""Workers are killed with SIGKILL at every append to a run's journal: every run comes to its end, each effect once."""

from __future__ import annotations

import multiprocessing
import signal
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tenure.testing import drain
from tests.system.killed import QUEUE, application, work_until_killed

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RUNS = 2
EFFECTS = 5  # of one run: one, two squares, the child's bake, both


def define(app) -> None:
    app.define_workflow({"name": "cake", "queue": QUEUE, "steps": [{"name": "bake", "performer": "task"}],
                         "output": "$.outputs.bake"})  # fmt: skip
    app.define_workflow({
        "name": "order", "queue": QUEUE, "output": "$.outputs.both", "steps": [
            {"name": "one", "performer": "task"},
            {"name": "all", "performer": "map", "over": ["$.outputs.one", 5], "after": "one",
             "each": {"performer": "task", "action": "square", "input": {"n": "$.item"}}},
            {"name": "sub", "performer": "child", "workflow": "cake", "after": "one", "input": {"n": "$.outputs.one"}},
            {"name": "both", "performer": "task", "after": ["all", "sub"], "input": {"a": "$.outputs.all", "b": "$.outputs.sub"}},
        ],
    })  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_worker_killed_at_any_append_loses_nothing_and_does_nothing_twice(migrated_database: str) -> None:
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["tests.system.killed"])
    now, points = NOON, []
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        connection.execute("create table public.effect (subject text primary key, times int)")
    with application(migrated_database, now) as app:
        define(app)
    for when in ("before", "after"):
        number = 0
        while True:
            number += 1
            with application(migrated_database, now) as app:
                runs = [app.start_run("order", {"n": n}, key=f"{when} {number} {n}") for n in range(RUNS)]
            process = processes.Process(target=work_until_killed, args=(migrated_database, now, number, when))
            process.start()
            process.join(60)
            killed = process.exitcode == -signal.SIGKILL
            assert killed or process.exitcode == 0
            now += timedelta(hours=1)  # what the dead one held has lapsed
            with application(migrated_database, now) as app:
                drain(app)
                for n, run in enumerate(runs):
                    snapshot = app.inspect_run(run)
                    assert (snapshot.run.status, snapshot.run.output) == ("COMPLETED", [[(n + 1) ** 2, 25], n + 1])
            if not killed:
                break  # it has no more appends
            points.append((when, number))
    with application(migrated_database, now) as app:
        report = app.verify()
        assert report.clean, report.first
        assert app.recover_runs().clean
        total = len(app.runs("order", limit=1000)) * EFFECTS
    with psycopg.connect(migrated_database) as connection:
        assert connection.execute("select count(*), sum(times) from public.effect").fetchone() == (total, total)
        applied = connection.execute(
            """select count(*), count(distinct (thread, data ->> 'step', data ->> 'iteration')) from tenure.fact
            where type = 'run.runnable_applied' and data ->> 'outcome' is not null"""
        ).fetchone()
        assert applied is not None
        assert applied[0] == applied[1]
    print(f"killed at {len(points)} appends, {total} effects")
    assert len(points) >= 20
