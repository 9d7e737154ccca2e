"""The server crashes under load, again and again; workers reconnect, and what was acknowledged is there."""

from __future__ import annotations

import random

import psycopg
import pytest

from tenure import Tenure
from tenure.store.postgres.migrate import migrate
from tests.system.conftest import assert_each_done_once, completed, facts_counted, submit_load
from tests.waiting import until

SUBJECTS = 6_000
CRASHES = 4


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_work_survives_crashes_of_the_server(make_cluster, processes, tell):
    cluster = make_cluster()
    dsn = cluster.start()
    migrate(dsn)
    with Tenure(dsn) as app:
        subjects = submit_load(app, SUBJECTS)
    chance = random.Random(20260302)  # noqa: S311
    workers = processes(dsn)
    for _ in range(2):
        workers.start()
    with psycopg.connect(dsn, autocommit=True) as connection:
        enrolled = "select count(*) from tenure.worker"
        until(lambda: connection.execute(enrolled).fetchone() == (2,), 60, workers.log)
    done = 0
    for crash in range(1, CRASHES + 1):
        with psycopg.connect(dsn, autocommit=True) as connection:
            goal = SUBJECTS * crash // (CRASHES + 1) + chance.randrange(300)
            until(lambda goal=goal, c=connection: completed(c) >= goal, 60, workers.log)
            before = completed(connection)
        assert cluster.stop("immediate")
        assert cluster.start() == dsn
        with psycopg.connect(dsn, autocommit=True) as connection:
            done = completed(connection)
        assert done >= before  # what was committed is still there
    assert done < SUBJECTS
    with psycopg.connect(dsn, autocommit=True) as connection:
        until(lambda: completed(connection) == SUBJECTS, 60, workers.log)
    workers.stop()

    facts = facts_counted(dsn)
    tell(
        f"crashes {CRASHES}, takeovers {facts['lease.expired']}, replays {facts['replays']}, claims {facts['lease.claimed']}"
    )
    assert_each_done_once(dsn, subjects)
    assert len(workers.alive) == 2  # the same processes all along
