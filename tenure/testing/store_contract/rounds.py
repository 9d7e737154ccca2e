"""What is done again: renewing without a key, and a second round of a subject with several slots."""

from __future__ import annotations

from tenure.testing.store_contract.bench import Bench


def test_a_lease_is_renewed_as_often_as_its_holder_asks_without_a_key(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    bench.subject()
    lease = bench.run_it(bench.worker())
    expiries = []
    for _ in range(3):
        bench.later(30)
        expiries.append(bench.renew(lease).data["expires_at"])
    assert expiries == sorted(set(expiries))
    assert bench.complete(lease).state == "COMPLETED"


def test_work_that_was_dispatched_can_be_started_again_without_a_key(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject()
    lease = bench.take(bench.worker())
    bench.start(lease)
    bench.dispatch_external(lease, external_ref="slurm:1")
    assert bench.start(lease).state == "RUNNING"


def test_the_slots_of_a_shared_subject_are_free_again_in_the_next_queue(bench: Bench) -> None:
    bench.define_queue("q")
    bench.define_queue("next")
    subject = bench.subject(slots=2)
    for key in ("a", "b"):
        bench.complete(bench.run_it(bench.worker(key)), next_queue_key="next")
    leases = [bench.run_it(bench.worker(key), "next") for key in ("c", "d")]
    assert [lease.item.slot for lease in leases] == [1, 2]
    assert [bench.complete(lease).state for lease in leases] == ["RUNNING", "COMPLETED"]
    assert bench.state(subject) == "COMPLETED"


def test_nobody_takes_a_second_slot_of_a_shared_subject_in_a_later_round(bench: Bench) -> None:
    bench.define_queue("q")
    bench.define_queue("next")
    bench.subject(slots=2)
    for key in ("a", "b"):
        bench.complete(bench.run_it(bench.worker(key)), next_queue_key="next")
    assert bench.claim(bench.worker("a"), "next") == []
