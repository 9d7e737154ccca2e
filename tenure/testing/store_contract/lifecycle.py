"""Holds, cancellations, retries, dead letters, expiry and slots: what becomes of a subject and of its records."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenure.model.errors import StaleLease
from tenure.model.states import ErrorClass, HoldStatus, LeaseStatus, RecordStatus, Resolution
from tenure.testing.store_contract.bench import Bench


def last_attempt(bench: Bench, subject: int) -> Any:
    return max(bench.thread(subject).attempts.values(), key=lambda attempt: attempt.uid)


# Holds and cancellations ----------------------------------------------------------------------------------------------
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


# Retries --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "policy, delays",
    [
        ({"mode": "CONSTANT", "initial_delay_seconds": 7}, [7, 7, 7, 7]),
        ({"mode": "LINEAR", "initial_delay_seconds": 7}, [7, 14, 21, 28]),
        ({"mode": "EXPONENTIAL_BACKOFF", "initial_delay_seconds": 7, "backoff_factor": 3}, [7, 21, 63, 189]),
        ({"mode": "EXPONENTIAL_BACKOFF", "initial_delay_seconds": 7, "max_delay_seconds": 20}, [7, 14, 20, 20]),
    ],
    ids=["constant", "linear", "exponential", "capped"],
)
def test_retry_waits_as_the_policy_says(bench: Bench, policy: dict[str, Any], delays: list[int]) -> None:
    bench.define_queue("q", retry_policy=policy, max_attempts_default=9)
    worker, subject = bench.worker(), bench.subject()

    waited = []
    for _ in delays:
        bench.fail(bench.run_it(worker), retryable=True)
        waited.append((bench.envelope(subject).retry_at - bench.now).total_seconds())
        bench.at(bench.envelope(subject).retry_at)

    assert waited == delays


def test_jitter_shortens_the_delay_and_repeats(bench: Bench) -> None:
    policy = {"mode": "CONSTANT", "initial_delay_seconds": 100, "jitter": 0.5}
    bench.define_queue("q", retry_policy=policy)
    worker = bench.worker()
    subjects = [bench.subject() for _ in range(8)]
    for lease in bench.claim(worker, "q", limit=8, start=True):
        bench.fail(lease, retryable=True)

    delays = [(bench.envelope(subject).retry_at - bench.now).total_seconds() for subject in subjects]

    assert all(50 < delay <= 100 for delay in delays)
    assert len(set(delays)) == 8


def test_retry_is_not_visible_before_its_time(bench: Bench) -> None:
    bench.define_queue("q", retry_policy={"mode": "CONSTANT", "initial_delay_seconds": 10})
    worker, subject = bench.worker(), bench.subject()
    bench.fail(bench.run_it(worker), retryable=True)
    bench.later(9.999999)
    early = bench.visible(), bench.claim(worker, "q")
    bench.later(0.000001)

    assert early == ([], [])
    assert bench.take(worker).subject == subject


def test_handler_may_say_when_to_retry(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()

    bench.fail(bench.run_it(bench.worker()), retryable=True, retry_after_seconds=1.5)

    assert bench.envelope(subject).retry_at == bench.now + timedelta(seconds=1.5)


def test_retry_may_go_to_another_queue(bench: Bench) -> None:
    bench.define_queue("q")
    bench.define_queue("slow")
    subject = bench.subject()

    bench.fail(bench.run_it(bench.worker()), retryable=True, retry_after_seconds=0, next_queue_key="slow")

    assert (bench.visible("q"), bench.visible("slow")) == ([], [subject])


def test_deferring_spends_no_attempt(bench: Bench) -> None:
    bench.define_queue("q", max_attempts_default=1)
    worker, subject = bench.worker(), bench.subject()

    bench.defer(bench.run_it(worker), until=bench.in_seconds(60))

    env = bench.envelope(subject)
    assert (env.state, env.attempt_count, env.ready_at, bench.visible()) == ("READY", 0, bench.in_seconds(60), [])
    bench.later(60)
    assert bench.take(worker).item.attempt_number == 1


def test_releasing_spends_no_attempt(bench: Bench) -> None:
    bench.define_queue("q", max_attempts_default=1)
    worker, subject = bench.worker(), bench.subject()

    bench.release_lease(bench.run_it(worker), reason="shutting down")

    assert (bench.state(subject), bench.envelope(subject).attempt_count, bench.visible()) == ("READY", 0, [subject])
    assert last_attempt(bench, subject).release_reason == "shutting down"


def test_new_attempt_makes_a_new_lease_with_the_next_number(bench: Bench) -> None:
    bench.define_queue("q")
    worker, subject = bench.worker(), bench.subject()
    bench.fail(bench.run_it(worker), retryable=True, retry_after_seconds=0)
    bench.fail(bench.run_it(worker), retryable=True, retry_after_seconds=0)

    attempts = sorted(bench.thread(subject).attempts.values(), key=lambda attempt: attempt.uid)

    assert [attempt.attempt_number for attempt in attempts] == [1, 2]


@pytest.mark.parametrize(
    "error_class, state",
    [
        (ErrorClass.TRANSIENT_SYSTEM, "FAILED_RETRYABLE"),
        (ErrorClass.TRANSIENT_DEPENDENCY, "FAILED_RETRYABLE"),
        (ErrorClass.TRANSIENT_CAPACITY, "FAILED_RETRYABLE"),
        (ErrorClass.PERMANENT_INPUT, "FAILED_TERMINAL"),
        (ErrorClass.PERMANENT_STATE, "FAILED_TERMINAL"),
        (ErrorClass.BUSINESS_RULE_HOLD, "HELD"),
        (ErrorClass.OPERATOR_CANCELED, "CANCELED"),
    ],
)
def test_class_of_the_error_decides(bench: Bench, error_class: ErrorClass, state: str) -> None:
    bench.define_queue("q")
    subject = bench.subject()

    bench.fail(bench.run_it(bench.worker()), error_class=error_class, error_code="E7")

    attempt = last_attempt(bench, subject)
    assert bench.state(subject) == state
    assert (attempt.error_class, attempt.error_code) == (error_class, "E7")
    assert attempt.end_state == state


# Dead letters ---------------------------------------------------------------------------------------------------------
def dead(bench: Bench, **submission: Any) -> int:
    subject = bench.subject(**submission)
    bench.fail(bench.run_it(bench.worker()), retryable=False, error_code="E7", error_message="the door jammed")
    return subject


def test_dead_letter_tells_what_was_last(bench: Bench) -> None:
    bench.define_queue("q")
    subject = dead(bench, name="tube 7")

    (row,) = bench.dead_letters()

    assert (row.letter.subject, row.name, row.error_code, row.error_message) == (
        subject,
        "tube 7",
        "E7",
        "the door jammed",
    )
    assert row.letter.attempt == last_attempt(bench, subject).uid


def test_own_limit_of_attempts_goes_before_the_queues(bench: Bench) -> None:
    bench.define_queue("q", max_attempts_default=5)
    subject = bench.subject(max_attempts=1)

    bench.fail(bench.run_it(bench.worker()), retryable=True)

    assert bench.state(subject) == "FAILED_TERMINAL"


@pytest.mark.parametrize("resolution", [Resolution.IGNORED, Resolution.CANCELED])
def test_dead_letter_is_resolved_without_running_the_subject(bench: Bench, resolution: Resolution) -> None:
    bench.define_queue("q")
    subject = dead(bench)

    bench.resolve_dead_letter(subject, reason="known cause", resolution=resolution)

    (row,) = bench.dead_letters(open_only=False)
    assert (row.letter.resolution_state, row.letter.resolved_by) == (resolution, "user:ada")
    assert (bench.state(subject), bench.dead_letters()) == ("FAILED_TERMINAL", [])


def test_dead_letter_cannot_be_resolved_as_requeued(bench: Bench) -> None:
    bench.define_queue("q")
    subject = dead(bench)

    refused = bench.error(bench.resolve_dead_letter, subject, reason="x", resolution=Resolution.REQUEUED)

    assert refused.code == "invalid_request"


def test_reopening_a_dead_subject_resolves_its_letter_and_counts_anew(bench: Bench) -> None:
    bench.define_queue("q")
    subject = dead(bench)

    bench.requeue(subject, reopen=True, reason="repaired")

    (row,) = bench.dead_letters(open_only=False)
    assert row.letter.resolution_state is Resolution.REQUEUED
    assert (bench.envelope(subject).attempt_count, bench.visible()) == (0, [subject])


def test_dead_letter_is_never_replayed_by_itself(bench: Bench) -> None:
    bench.define_queue("q")
    dead(bench)
    bench.later(86400 * 365)

    assert bench.claim(bench.worker("other"), "q") == []


def test_subject_that_dies_again_gets_another_letter(bench: Bench) -> None:
    bench.define_queue("q")
    subject = dead(bench)
    bench.requeue(subject, reopen=True)
    bench.fail(bench.run_it(bench.worker()), retryable=False)

    assert len(bench.dead_letters(open_only=False)) == 2
    assert len(bench.dead_letters()) == 1


# Expiry ---------------------------------------------------------------------------------------------------------------
def test_lease_that_lapsed_before_work_began_costs_no_attempt(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60, max_attempts_default=1)
    subject = bench.subject()
    bench.take(bench.worker())
    bench.later(61)
    bench.sweep()

    env = bench.envelope(subject)
    assert (env.state, env.attempt_count, bench.visible()) == ("READY", 0, [subject])


def test_lease_that_lapsed_after_work_began_costs_an_attempt(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60, max_attempts_default=2)
    subject = bench.subject()
    bench.run_it(bench.worker())
    lapses = bench.in_seconds(60)
    bench.later(100)
    bench.sweep()

    env = bench.envelope(subject)
    assert (env.state, env.attempt_count, env.retry_at) == ("FAILED_RETRYABLE", 1, lapses)
    assert bench.visible() == [subject]


def test_last_attempt_that_lapses_makes_a_dead_letter(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60, max_attempts_default=1)
    subject = bench.subject()
    bench.run_it(bench.worker())
    bench.later(61)
    hidden = bench.visible()
    bench.sweep()

    assert (hidden, bench.state(subject), len(bench.dead_letters())) == ([], "FAILED_TERMINAL", 1)


def test_claim_does_what_the_sweeper_would_have_done(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    bench.run_it(bench.worker("crashed"))
    bench.later(61)

    held = bench.take(bench.worker("next"))

    assert (held.subject, held.item.attempt_number) == (subject, 2)
    assert bench.types(subject) == ["subject.submitted", "lease.claimed", "lease.expired", "lease.claimed"]


def test_outside_work_without_a_deadline_never_lapses(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    bench.dispatch_external(held, external_ref="slurm:4711")
    bench.later(86400 * 365)

    swept = bench.sweep()
    bench.complete(held)

    assert (swept, bench.state(subject)) == ([], "COMPLETED")


def test_outside_work_past_its_deadline_waits_for_an_operator(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    bench.dispatch_external(held, deadline=bench.in_seconds(60))
    bench.later(61)

    bench.sweep()

    assert (bench.state(subject), bench.visible(), bench.claim(bench.worker("other"), "q")) == (
        "WAITING_EXTERNAL",
        [],
        [],
    )
    bench.requeue(subject, reason="the cluster lost it")
    assert bench.visible() == [subject]


def test_work_that_goes_on_after_outside_work_lapses_like_any_other(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    began = bench.now
    bench.later(5)
    bench.dispatch_external(held)
    bench.later(3600)

    bench.start(held)

    attempt = bench.thread(subject).attempts[held.lease]
    assert (attempt.started_at, attempt.expires_at) == (began, bench.in_seconds(60))
    assert bench.state(subject) == "RUNNING"


def test_work_that_runs_outside_lasts_until_its_deadline(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    held = bench.take(bench.worker())
    bench.dispatch_external(held)
    until = bench.in_seconds(86400)

    bench.start(held, deadline=until)
    bench.later(86399)

    assert bench.sweep() == []
    assert bench.thread(subject).attempts[held.lease].expires_at == until
    assert bench.verify().clean
    bench.later(1)
    assert len(bench.sweep()) == 1
    assert (bench.state(subject), bench.verify().found) == ("FAILED_RETRYABLE", {})


def test_renewed_lease_lasts_another_term(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    bench.later(50)

    bench.renew(held)

    attempt = bench.thread(subject).attempts[held.lease]
    assert (attempt.heartbeat_at, attempt.expires_at) == (bench.now, bench.in_seconds(60))


def test_renewing_never_shortens_a_lease(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=600)
    subject = bench.subject()
    held = bench.run_it(bench.worker())
    until = bench.thread(subject).attempts[held.lease].expires_at

    bench.renew(held, ttl_seconds=5)

    assert bench.thread(subject).attempts[held.lease].expires_at == until


def test_admin_may_end_a_live_lease(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    held = bench.run_it(bench.worker())

    early = bench.error(bench.expire_lease, held.lease)
    bench.expire_lease(held.lease, force=True, reason="robot unplugged")

    assert early.code == "conflict"
    attempt = bench.thread(subject).attempts[held.lease]
    assert (attempt.lease_status, attempt.release_reason) == (LeaseStatus.EXPIRED, "robot unplugged")
    assert bench.visible() == [subject]


# Slots ----------------------------------------------------------------------------------------------------------------
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
