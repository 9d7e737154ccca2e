"""Slots: subjects that several workers take, each once."""

from __future__ import annotations

from tenure.model.states import LeaseStatus
from tenure.testing.store_contract.bench import Bench


def test_slots_are_held_by_different_workers(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject(slots=2)
    one, two, three = bench.worker("one"), bench.worker("two"), bench.worker("three")

    first = bench.claim(one, "q", limit=5)
    again = bench.claim(one, "q", limit=5)
    second = bench.claim(two, "q", limit=5)
    third = bench.claim(three, "q", limit=5)

    assert [len(found) for found in (first, again, second, third)] == [1, 0, 1, 0]
    assert [a.slot for a in bench.thread(subject).live_attempts] == [1, 2]


def test_worker_that_finished_a_slot_gets_no_other_of_the_subject(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject(slots=2)
    worker = bench.worker()
    bench.complete(bench.run_it(worker))

    assert bench.claim(worker, "q") == []
    refused = bench.error(bench.claim, worker, "q", subject=subject)
    assert refused.evidence["reasons"] == [{"code": "same_worker"}]


def test_subject_is_completed_with_its_last_slot(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject(slots=3)

    states = []
    for key in ("one", "two", "three"):
        bench.complete(bench.run_it(bench.worker(key)))
        states.append(bench.state(subject))

    assert states == ["READY", "READY", "COMPLETED"]


def test_slot_is_free_again_after_it_was_given_back(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject(slots=2)
    one, two = bench.run_it(bench.worker("one")), bench.run_it(bench.worker("two"))
    bench.release_lease(one)

    again = bench.run_it(bench.worker("three"))

    assert (one.item.slot, two.item.slot, again.item.slot) == (1, 2, 1)


def test_failed_slot_is_free_at_once_and_the_others_go_on(bench: Bench) -> None:
    bench.define_queue("q", max_attempts_default=5)
    subject = bench.subject(slots=2)
    one, two = bench.run_it(bench.worker("one")), bench.run_it(bench.worker("two"))

    bench.fail(one, retryable=True)

    assert bench.visible() == [subject]
    bench.complete(two)
    bench.complete(bench.run_it(bench.worker("three")))
    assert bench.state(subject) == "COMPLETED"


def test_holding_a_shared_subject_ends_all_its_leases(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject(slots=2)
    for key in ("one", "two"):
        bench.run_it(bench.worker(key))

    bench.hold(subject, reason="broken seal")

    assert {a.lease_status for a in bench.thread(subject).attempts.values()} == {LeaseStatus.ABANDONED}
    assert bench.envelope(subject).slots_free == 2


def test_next_queue_counts_the_slots_anew(bench: Bench) -> None:
    bench.define_queue("q")
    bench.define_queue("review")
    subject = bench.subject(slots=2)
    bench.complete(bench.run_it(bench.worker("one")), next_queue_key="review")
    between = bench.visible()
    bench.complete(bench.run_it(bench.worker("two")), next_queue_key="review")

    env = bench.envelope(subject)
    assert (between, env.next_queue_key, env.slots_free, env.slots_done) == ([subject], "review", 2, 0)


def test_shared_subject_cannot_wait_for_outside_work(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject(slots=2)

    assert bench.error(bench.dispatch_external, bench.run_it(bench.worker())).code == "invalid_transition"


def test_whom_a_submission_bars_never_takes_it(bench: Bench) -> None:
    bench.define_queue("q")
    ada, bob = bench.worker("ada"), bench.worker("bob")
    barred = bench.subject(barred_workers=(ada.uid,), priority=9)
    free = bench.subject()
    assert [lease.subject for lease in bench.claim(ada, "q", limit=5)] == [free]
    assert [lease.subject for lease in bench.claim(bob, "q", limit=5)] == [barred]
    assert bench.envelope(barred).barred_workers == (ada.uid,)


def test_many_submissions_bar_each_whom_it_names(bench: Bench) -> None:
    bench.define_queue("q")
    ada, bob = bench.worker("ada"), bench.worker("bob")
    requests = [{"queue_key": "q", "barred_workers": (uid,)} for uid in (ada.uid, bob.uid) * 5]
    bench.submit_many(requests)
    taken = {w.worker_key: {lease.subject for lease in bench.claim(w, "q", limit=50)} for w in (ada, bob)}
    assert {key: len(subjects) for key, subjects in taken.items()} == {"ada": 5, "bob": 5}
    assert not taken["ada"] & taken["bob"]
