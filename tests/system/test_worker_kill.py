"""SIGKILL of worker processes under load: nothing is lost, nothing is done twice as far as the facts go."""

from __future__ import annotations

import random

import psycopg
import pytest

from tenure import Tenure
from tests.system.conftest import assert_each_done_once, completed, facts_counted, submit_load, wait_for

SUBJECTS = 10_000


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_ten_thousand_subjects_survive_the_killing_of_their_workers(migrated_database, processes, tell):
    with Tenure(migrated_database) as app:
        subjects = submit_load(app, SUBJECTS)
    chance = random.Random(20260301)  # noqa: S311
    workers = processes(migrated_database)
    for _ in range(3):
        workers.start()
    kills = 0
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        while (done := completed(connection)) < SUBJECTS * 0.9:
            # One that holds work: killing an idle one would prove nothing.
            goal = min(done + chance.randrange(200, 700), SUBJECTS)
            wait_for(lambda goal=goal: completed(connection) >= goal, 60, workers.log)
            workers.kill(chance.choice(workers.alive))
            workers.start()
            kills += 1
        wait_for(lambda: completed(connection) == SUBJECTS, 60, workers.log)
    workers.stop()

    facts = facts_counted(migrated_database)
    tell(
        f"kills {kills}, takeovers {facts['lease.expired']}, replays {facts['replays']}, claims {facts['lease.claimed']}"
    )
    assert_each_done_once(migrated_database, subjects)
    assert kills >= 10
    assert facts["lease.expired"] > 0
    assert facts["lease.claimed"] > SUBJECTS
