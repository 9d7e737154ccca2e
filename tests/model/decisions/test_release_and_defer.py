"""release_queue_lease and deferring: given back without spending an attempt."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenure.model import fact_types as ft
from tenure.model.states import LeaseStatus, RecordStatus, State
from tests.model.scene import T0, B, Scene

LATER = T0 + timedelta(hours=1)


def test_a_released_subject_is_back_at_once_and_no_attempt_is_spent() -> None:
    scene = Scene()
    scene.claim()
    fact = scene.wait(5).release()
    assert (fact.type, fact.data) == (ft.RELEASED, {"reason": "RELEASED"})
    assert (scene.state, scene.envelope.attempt_count, scene.envelope.slots_free) == (State.READY, 0, 1)
    assert scene.why() == []


def test_a_released_lease_closes_its_record() -> None:
    scene = Scene()
    scene.claim()
    scene.wait(5).release(reason="shift ends")
    attempt = scene.attempt
    assert (attempt.lease_status, attempt.record_status) == (LeaseStatus.RELEASED, RecordStatus.CANCELED)
    assert (attempt.release_reason, attempt.ended_at) == ("shift ends", T0 + timedelta(seconds=5))
    assert (attempt.end_state, attempt.end_revision) == (State.READY, 3)


def test_releasing_what_was_not_started_changes_no_revision() -> None:
    scene = Scene()
    scene.claim(start=False)
    scene.release()
    assert (scene.state, scene.envelope.revision) == (State.READY, 1)


def test_a_retry_that_was_not_started_stays_a_retry() -> None:
    scene = Scene()
    scene.claim()
    scene.fail()
    scene.wait(10).claim(B, start=False)
    scene.release(B)
    assert (scene.state, scene.envelope.attempt_count) == (State.FAILED_RETRYABLE, 1)


def test_outside_work_that_is_given_back_is_ready() -> None:
    scene = Scene()
    scene.claim()
    scene.dispatch()
    scene.release()
    assert scene.state is State.READY


def test_a_deferred_subject_comes_back_at_its_time_and_no_attempt_is_spent() -> None:
    scene = Scene()
    scene.claim()
    fact = scene.defer(until=LATER)
    assert (fact.type, scene.state, scene.envelope.revision) == (ft.DEFERRED, State.READY, 3)
    assert (scene.envelope.ready_at, scene.envelope.attempt_count) == (LATER, 0)
    assert [r.code for r in scene.why()] == ["not_yet_due"]


def test_a_deferred_lease_says_so() -> None:
    scene = Scene()
    scene.claim()
    scene.defer(until=LATER)
    attempt = scene.attempt
    assert (attempt.lease_status, attempt.record_status, attempt.release_reason) == (
        LeaseStatus.RELEASED, RecordStatus.CANCELED, "DEFERRED",
    )  # fmt: skip


def test_a_deferred_retry_waits_for_the_new_time_and_not_for_the_old() -> None:
    scene = Scene()
    scene.claim()
    scene.fail()
    scene.wait(10).claim(B)
    scene.defer(B, until=LATER)
    assert (scene.envelope.eligible_at, scene.envelope.attempt_count) == (LATER, 1)


@pytest.mark.parametrize("how", ["release", "defer"])
def test_what_was_given_back_can_be_taken_by_another(how: str) -> None:
    scene = Scene()
    scene.claim()
    getattr(scene, how)(**{"until": T0} if how == "defer" else {})
    scene.claim(B)
    assert (scene.attempt.worker, scene.attempt.attempt_number) == (B, 1)
