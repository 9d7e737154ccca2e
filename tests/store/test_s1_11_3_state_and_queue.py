"""S1 section 11.3: state and queue stay consistent."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tests.store.harness import Bench, bench_on


def test_queue_state_consistency(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()

    assert bench.visible() == [subject]
    assert bench.lineage(subject) == []


@pytest.mark.parametrize("ready_in, shown", [(None, True), (60, False)], ids=["due", "not due yet"])
def test_queue_follows_the_envelope_where_its_index_is_stale(
    shared_connection: psycopg.Connection[Any], ready_in: int | None, shown: bool
) -> None:
    bench = bench_on(shared_connection, f"stale{ready_in}")
    bench.define_queue("q")
    worker = bench.worker()
    subject = bench.subject(ready_at=bench.in_seconds(ready_in) if ready_in else None)

    shared_connection.execute("update tenure.execution set deferred = not deferred where uid = %s", [subject])

    assert bench.visible() == ([subject] if shown else [])
    assert [lease.subject for lease in bench.claim(worker, "q")] == ([subject] if shown else [])


def test_held_item_removed_from_queue(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()

    bench.hold(subject, reason="broken seal")
    held = bench.depth()
    bench.release_hold(subject)
    bench.requeue(subject)

    assert (held, bench.depth(), bench.visible()) == (0, 1, [subject])


def test_cancel_removes_item_from_queue(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()

    bench.cancel(subject, reason="no longer wanted")

    assert (bench.depth(), bench.envelope(subject).terminal, bench.visible()) == (0, True, [])


def test_max_attempt_dead_letter(bench: Bench) -> None:
    bench.define_queue("q", max_attempts_default=3, retry_policy={"mode": "CONSTANT", "initial_delay_seconds": 10})
    worker = bench.worker()
    subject = bench.subject()
    for _ in range(3):
        bench.fail(bench.run_it(worker), retryable=True, error_message="no reply")
        bench.later(11)

    (row,) = bench.dead_letters()
    assert bench.state(subject) == "FAILED_TERMINAL"
    assert (row.letter.subject, row.letter.failure_count, row.error_message) == (subject, 3, "no reply")
    assert bench.depth() == 0
    bench.later(86400)
    assert bench.claim(worker, "q") == []
