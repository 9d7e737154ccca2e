"""expire_queue_lease: what a lapsed lease leaves behind (S1 sections 6.4, 6.5 and 8.1)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenure.model import fact_types as ft
from tenure.model.decisions.expire import expired_standing
from tenure.model.states import LeaseStatus, RecordStatus, State
from tests.model.scene import T0, A, B, C, Scene

LAPSE = T0 + timedelta(seconds=60)


def test_an_attempt_that_never_began_costs_nothing() -> None:
    scene = Scene()
    scene.claim(start=False)
    fact = scene.wait(75).expire()
    assert (fact.type, fact.data, scene.state) == (ft.EXPIRED, None, State.READY)
    env = scene.envelope
    assert (env.attempt_count, env.retry_at, env.revision, env.slots_free) == (0, None, 1, 1)


def test_an_expired_lease_says_why_and_closes_its_record() -> None:
    scene = Scene()
    scene.claim()
    scene.wait(75).expire()
    attempt = scene.attempt
    assert (attempt.lease_status, attempt.record_status) == (LeaseStatus.EXPIRED, RecordStatus.EXPIRED)
    assert (attempt.release_reason, attempt.ended_at) == ("HEARTBEAT_TIMEOUT", scene.now)


def test_an_attempt_that_had_begun_counts_as_failed_from_the_moment_it_lapsed() -> None:
    scene = Scene()
    scene.claim()
    scene.wait(75).expire()
    env = scene.envelope
    assert (env.state, env.attempt_count, env.retry_at, env.revision) == (State.FAILED_RETRYABLE, 1, LAPSE, 3)
    assert scene.why() == []


def test_the_fact_names_whose_lease_it_was() -> None:
    scene = Scene()
    scene.claim(B)
    fact = scene.wait(60).expire(B)
    assert (fact.lease, fact.worker, fact.queue_key) == (scene.attempt.uid, B, "q")


def test_an_attempt_that_is_spent_is_a_new_revision_although_the_state_stays() -> None:
    scene = Scene(slots=2)
    scene.claim(A)
    revision = scene.envelope.revision
    scene.wait(60).expire(A)
    assert (scene.state, scene.envelope.revision) == (State.READY, revision + 1)


def test_a_retry_that_never_began_stays_a_retry() -> None:
    scene = Scene()
    scene.claim()
    scene.fail()
    scene.wait(10).claim(B, start=False)
    scene.wait(60).expire(B)
    env = scene.envelope
    assert (env.state, env.attempt_count, env.retry_at) == (State.FAILED_RETRYABLE, 1, T0 + timedelta(seconds=10))


def test_work_that_kills_its_worker_every_time_ends_as_a_dead_letter() -> None:
    scene = Scene()
    for _ in range(3):
        scene.claim()
        scene.wait(60).expire()
    letter = scene.thread.open_dead_letter
    assert (scene.state, scene.envelope.attempt_count) == (State.FAILED_TERMINAL, 3)
    assert letter is not None
    assert (letter.failure_count, letter.error_class, letter.attempt) == (3, "TRANSIENT_SYSTEM", scene.attempt.uid)
    assert letter.dead_lettered_at == scene.now


def test_outside_work_stays_outside_for_an_operator_to_reconcile() -> None:
    scene = Scene()
    scene.claim()
    scene.dispatch(deadline=LAPSE)
    scene.wait(60).expire()
    env = scene.envelope
    assert (env.state, env.attempt_count, env.slots_free) == (State.WAITING_EXTERNAL, 0, 1)
    assert scene.thread.live_attempts == []
    scene.requeue()
    assert scene.state is State.READY


def test_an_admin_who_forces_it_is_named_as_the_reason() -> None:
    scene = Scene()
    scene.claim()
    fact = scene.wait(5).expire(reason="FORCED")
    assert fact.data is not None
    assert (fact.data["reason"], scene.attempt.release_reason) == ("FORCED", "FORCED")
    # Eligible from now on, not from the moment at which it would have lapsed.
    assert scene.envelope.retry_at == T0 + timedelta(seconds=5)


def test_without_its_queue_a_lease_still_expires() -> None:
    scene = Scene(max_attempts=1)
    scene.claim()
    scene.queues.clear()
    scene.wait(60).expire()
    assert scene.state is State.FAILED_RETRYABLE


# Slots ------------------------------------------------------------------------------------------------------------
def test_a_lapsed_slot_opens_a_full_subject_again() -> None:
    scene = Scene(slots=2)
    scene.claim(A)
    scene.claim(B)
    scene.wait(60).expire(A)
    env = scene.envelope
    assert (env.state, env.slots_free, env.attempt_count, env.retry_at) == (State.READY, 1, 1, None)


def test_a_lapsed_slot_that_never_began_opens_a_full_subject_too() -> None:
    scene = Scene(slots=2)
    scene.claim(A, start=False)
    scene.claim(B)
    revision = scene.envelope.revision
    scene.wait(30).renew(B)
    scene.wait(30).expire(A)
    env = scene.envelope
    assert (env.state, env.slots_free, env.attempt_count, env.revision) == (State.READY, 1, 0, revision + 1)


def test_slots_that_lapse_time_and_again_end_as_a_dead_letter() -> None:
    scene = Scene(slots=3)
    for _ in range(3):
        scene.claim(A)
        scene.wait(60).expire(A)
    assert (scene.state, scene.envelope.attempt_count) == (State.FAILED_TERMINAL, 3)
    assert scene.thread.open_dead_letter is not None


def test_the_last_lapse_ends_what_others_hold() -> None:
    scene = Scene(slots=2, max_attempts=1)
    scene.claim(A)
    scene.wait(30).claim(B)
    fact = scene.wait(30).expire(A)
    assert fact.data is not None
    assert fact.data["ended"] == [scene.lease_of(B).uid]
    other = scene.lease_of(B)
    assert (other.lease_status, other.record_status, other.release_reason) == (
        LeaseStatus.ABANDONED, RecordStatus.CANCELED, "FAILED",
    )  # fmt: skip


# Before any sweep -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("slots", [1, 2, 3])
@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("started", [(True, True), (True, False), (False, False)])
def test_reads_before_a_sweep_know_where_it_will_leave_the_subject(
    slots: int, limit: int, started: tuple[bool, bool]
) -> None:
    scene = Scene(slots=slots, max_attempts=limit)
    holders = [A, B][:slots]
    for holder, start in zip(holders, started, strict=False):
        scene.claim(holder, start=start)
    scene.wait(60)
    foretold = expired_standing(scene.envelope, scene.thread.live_attempts, scene.queues["q"])
    for holder in holders:
        if scene.lease_of(holder).live:
            scene.expire(holder)
    assert scene.state is foretold


def test_what_was_opened_by_a_lapse_is_taken_by_another() -> None:
    scene = Scene(slots=2)
    scene.claim(A)
    scene.claim(B)
    scene.wait(60).expire(A)
    scene.claim(C)
    assert (scene.lease_of(C).slot, scene.state) == (scene.lease_of(A).slot, State.RUNNING)
