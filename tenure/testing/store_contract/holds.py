"""Holds and cancellations: what stops work, and what becomes of the work under way."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.model.errors import StaleLease
from tenure.model.states import HoldStatus, LeaseStatus, RecordStatus
from tenure.testing.store_contract.bench import Bench


def test_subject_with_two_holds_stays_held_until_both_are_released(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    first = bench.hold(subject, reason="one").data["hold"]
    second = bench.hold(subject, reason="two").data["hold"]

    bench.release_hold(subject, hold=first)
    between = bench.state(subject), bench.envelope(subject).hold_reason
    bench.release_hold(subject, hold=second)

    assert (between, bench.state(subject)) == (("HELD", "two"), "READY")


def test_release_must_name_the_hold_where_there_are_several(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    bench.hold(subject, reason="one")
    bench.hold(subject, reason="two")

    assert bench.error(bench.release_hold, subject).code == "conflict"


def test_hold_is_released_once(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    first = bench.hold(subject, reason="one").data["hold"]
    bench.hold(subject, reason="two")
    bench.release_hold(subject, hold=first)

    assert bench.error(bench.release_hold, subject, hold=first).code == "conflict"


def test_hold_is_evidence_of_who_when_and_why(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    bench.hold(subject, reason="broken seal", hold_code="INTEGRITY")
    placed = bench.now
    bench.later(60)
    bench.release_hold(subject)

    (row,) = bench.holds(active_only=False)

    hold = row.hold
    assert (hold.hold_code, hold.reason, hold.placed_by, hold.placed_at) == (
        "INTEGRITY",
        "broken seal",
        "user:ada",
        placed,
    )
    assert (hold.status, hold.released_by, hold.released_at) == (HoldStatus.RELEASED, "user:ada", bench.now)


@pytest.mark.parametrize(
    "end, lease_status, reason",
    [
        (lambda b, s: b.hold(s, reason="broken seal"), LeaseStatus.ABANDONED, "HELD"),
        (lambda b, s: b.cancel(s), LeaseStatus.CANCELED, "CANCELED"),
        (lambda b, s: b.requeue(s), LeaseStatus.ABANDONED, "REQUEUED"),
    ],
    ids=["hold", "cancel", "requeue"],
)
@pytest.mark.parametrize("start", [False, True], ids=["claimed", "started"])
def test_operator_action_on_leased_work_ends_the_lease_and_closes_the_record(
    bench: Bench, end: Any, lease_status: LeaseStatus, reason: str, start: bool
) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    held = bench.take(bench.worker(), start=start)
    bench.later(3)

    end(bench, subject)

    attempt = bench.thread(subject).attempts[held.lease]
    assert (attempt.lease_status, attempt.release_reason, attempt.ended_at) == (lease_status, reason, bench.now)
    assert attempt.record_status is RecordStatus.CANCELED
    assert bench.leases() == []


def test_no_record_stays_started_once_its_lease_has_ended(bench: Bench) -> None:
    bench.define_queue("q")
    worker = bench.worker()
    for end in (bench.complete, bench.fail, bench.release_lease):
        bench.subject()
        end(bench.run_it(worker))

    open_records = [row for row in bench.leases(None) if row.attempt.record_status is RecordStatus.STARTED]
    assert open_records == []


def test_canceling_a_held_subject_closes_its_holds(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    bench.hold(subject, reason="broken seal")

    bench.cancel(subject)

    assert (bench.holds(), bench.envelope(subject).hold_state) == ([], "TERMINAL")


def test_completing_while_held_is_stale(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    bench.hold(subject, reason="broken seal")

    with pytest.raises(StaleLease):
        bench.complete(held)


def test_hold_of_a_retry_comes_back_as_a_retry(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    bench.fail(bench.run_it(bench.worker()), retryable=True)

    bench.hold(subject, reason="look at it")
    bench.release_hold(subject)

    assert bench.state(subject) == "FAILED_RETRYABLE"
