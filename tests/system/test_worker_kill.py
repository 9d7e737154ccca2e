"""SIGKILL of worker processes under load: nothing is lost, nothing is done twice as far as the facts go."""

from __future__ import annotations

import random

import psycopg
import pytest

from tenure import Tenure
from tests.system.conftest import assert_each_done_once, completed, facts_counted, submit_load
from tests.waiting import until

ROUNDS, SUBJECTS = 20, 500


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ten_thousand_subjects_survive_the_killing_of_their_workers(migrated_database, processes, tell):
    chance = random.Random(20260301)  # noqa: S311
    workers = processes(migrated_database)
    for _ in range(3):
        workers.start()
    subjects: list[int] = []
    with Tenure(migrated_database) as app, psycopg.connect(migrated_database, autocommit=True) as connection:
        # In rounds: workers that are quicker than this process are still killed once in each, most of them with work.
        for _ in range(ROUNDS):
            goal = len(subjects) + chance.randrange(100, 350)
            subjects += submit_load(app, SUBJECTS)
            until(lambda goal=goal: completed(connection) >= goal, 60, workers.log)
            workers.kill(chance.choice(workers.alive))
            workers.start()
        until(lambda: completed(connection) == ROUNDS * SUBJECTS, 60, workers.log)
    workers.stop()

    facts = facts_counted(migrated_database)
    tell(
        f"kills {ROUNDS}, takeovers {facts['lease.expired']}, replays {facts['replays']}, claims {facts['lease.claimed']}"
    )
    assert_each_done_once(migrated_database, subjects)
    assert facts["lease.expired"] > 0
    assert facts["lease.claimed"] > ROUNDS * SUBJECTS
