"""S1 section 11.1: concurrency."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tenure.model.errors import LeaseExpired, TenureError
from tenure.model.states import LeaseStatus, RecordStatus, WorkerType
from tests.store.harness import Bench

HANDS = (WorkerType.SERVICE, WorkerType.HUMAN_SESSION)


@pytest.mark.parametrize("kind", HANDS)
@pytest.mark.parametrize("named", [False, True], ids=["from the queue", "the same subject"])
def test_parallel_worker_collision(bench: Bench, kind: WorkerType, named: bool) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    depth_before = bench.depth()
    start = threading.Barrier(2)

    def claim(key: str) -> int:
        with bench.beside() as mine:
            worker = mine.worker(key, worker_type=kind)
            start.wait(10)
            try:
                return len(mine.claim(worker, "q", subject=subject if named else None))
            except TenureError as refused:
                assert refused.code == "not_claimable"
                return 0

    with ThreadPoolExecutor(2) as pool:
        taken = list(pool.map(claim, ["one", "two"]))

    assert sorted(taken) == [0, 1]
    attempts = bench.thread(subject).attempts.values()
    assert [a.lease_status for a in attempts] == [LeaseStatus.ACTIVE]
    assert [a.record_status for a in attempts] == [RecordStatus.STARTED]
    assert (depth_before, bench.depth()) == (1, 0)


@pytest.mark.parametrize("kind", HANDS)
def test_lease_expiration_recovery(bench: Bench, kind: WorkerType) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    first, second = bench.worker("first", worker_type=kind), bench.worker("second", worker_type=kind)
    subject = bench.subject()
    old = bench.take(first)

    bench.later(61)

    assert bench.visible() == [subject]
    new = bench.take(second)
    bench.sweep()
    attempts = bench.thread(subject).attempts
    assert attempts[old.lease].lease_status is LeaseStatus.EXPIRED
    assert attempts[old.lease].release_reason == "HEARTBEAT_TIMEOUT"
    assert attempts[new.lease].lease_status is LeaseStatus.ACTIVE


def test_sweeper_marks_a_lapsed_lease_that_nobody_took_over(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    bench.later(61)

    (swept,) = bench.sweep()

    attempt = bench.thread(subject).attempts[held.lease]
    assert (swept.lease, attempt.lease_status) == (held.lease, LeaseStatus.EXPIRED)
    assert (attempt.ended_at, attempt.record_status) == (bench.now, RecordStatus.EXPIRED)


@pytest.mark.parametrize("kind", HANDS)
def test_worker_crash_recovery(bench: Bench, kind: WorkerType) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    crashed, rescuer = bench.worker("crashed", worker_type=kind), bench.worker("rescuer", worker_type=kind)
    subject = bench.subject()
    lost = bench.run_it(crashed)
    bench.later(61)
    bench.complete(bench.run_it(rescuer))

    with pytest.raises(LeaseExpired):
        bench.complete(lost)

    assert bench.state(subject) == "COMPLETED"
    succeeded = [a.worker for a in bench.thread(subject).attempts.values() if a.record_status is RecordStatus.SUCCEEDED]
    assert succeeded == [rescuer.uid]


def test_work_that_kills_its_worker_every_time_ends_as_a_dead_letter(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60, max_attempts_default=2)
    subject = bench.subject()
    for key in ("one", "two"):
        bench.run_it(bench.worker(key))
        bench.later(61)
    bench.sweep()

    assert bench.state(subject) == "FAILED_TERMINAL"
    assert [row.letter.subject for row in bench.dead_letters()] == [subject]
