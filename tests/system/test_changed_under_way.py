"""Rows that change between a statement's snapshot and its lock: the moment that a race would have to hit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tenure.engine.actions import complete as complete_action
from tenure.model.json_text import payload_hash
from tenure.store.records import Finish
from tests.store.actions import TOKEN, Lab


@pytest.fixture
def labs(migrated_database: str) -> Iterator[tuple[Lab, Lab]]:
    """Two connections to the same laboratory."""
    one, other = Lab(migrated_database), Lab(migrated_database)
    yield one, other
    one.close()
    other.close()


@contextmanager
def while_waiting(lab: Lab, act: Callable[[], Any], lock: str, *values: Any) -> Iterator[Any]:
    """``act`` waits for a lock that is let go when the block ends; gives the future of its answer."""
    with psycopg.connect(lab.connection.info.dsn, autocommit=False) as blocker, ThreadPoolExecutor(1) as pool:
        blocker.execute(lock, values or None)
        answer = pool.submit(act)
        deadline = time.monotonic() + 10
        waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        with psycopg.connect(lab.connection.info.dsn, autocommit=True) as watcher:
            while not watcher.execute(waits).fetchall():
                assert time.monotonic() < deadline
                time.sleep(0.005)
        yield answer
        blocker.commit()
        answer.result(10)


@pytest.mark.parametrize("change", ["priority", "hold"])
def test_a_claim_takes_a_subject_that_changed_before_it_was_locked(labs, change):
    lab, operator = labs
    subjects = [lab.submit() for _ in range(3)]
    with while_waiting(
        lab, lambda: lab.claim(3), "select from tenure.worker where uid = %s for update", lab.worker.uid
    ) as claim:
        if change == "priority":
            operator.requeue(subjects[1], priority=7)
        else:
            operator.hold(subjects[1])
            operator.release_hold(subjects[1])

    taken = claim.result()
    assert {item.subject for item in taken} <= set(subjects)
    assert {subjects[0], subjects[2]} <= {item.subject for item in taken}
    assert lab.verified().clean, lab.verified()


def test_a_completion_ends_the_attempt_whose_lease_was_renewed_meanwhile(labs):
    lab, keeper = labs
    lab.submit()
    [item] = lab.claim()
    finishes = [Finish(item.lease, TOKEN, payload_hash({"result": 1}), 1)]
    keeper.connection.autocommit = False
    keeper.connection.execute("select set_config('tenure.now', %s, true)", [keeper.now.isoformat()])
    assert keeper.renew_all([item]).until

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: lab.run(complete_action.finish_many(lab.caller, item.worker, finishes)))
        deadline = time.monotonic() + 10
        with psycopg.connect(lab.connection.info.dsn, autocommit=True) as watcher:
            waits = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
            while not watcher.execute(waits).fetchall():
                assert time.monotonic() < deadline
                time.sleep(0.005)
        keeper.connection.commit()
        answer.result(10)

    assert lab.verified().clean, lab.verified()
    assert lab.sql("select lease_status::text, record_status::text from tenure.attempt") == [("COMPLETED", "SUCCEEDED")]


def test_a_renewal_leaves_out_what_another_transaction_holds_and_waits_for_nothing(labs):
    lab, operator = labs
    subjects = [lab.submit() for _ in range(3)]
    items = {item.subject: item for item in lab.claim(3)}
    operator.connection.autocommit = False
    operator.hold(subjects[1])

    renewals = lab.renew_all(list(items.values()))

    assert set(renewals.until) == {items[subjects[0]].lease, items[subjects[2]].lease}
    assert renewals.busy == {items[subjects[1]].lease}
    operator.connection.commit()
    renewals = lab.renew_all(list(items.values()))
    assert set(renewals.until) == {items[subjects[0]].lease, items[subjects[2]].lease}
    assert renewals.busy == set()
    assert lab.verified().clean, lab.verified()
