"""start_execution and dispatch_external (S1 sections 4.3 and 7.6)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenure.model import fact_types as ft
from tenure.model.errors import InvalidRequest, InvalidTransition
from tenure.model.states import LeaseStatus, State
from tenure.model.thread import FOREVER
from tests.model.scene import T0, A, B, Scene


def test_a_claimed_subject_starts_and_runs() -> None:
    scene = Scene()
    scene.claim(start=False)
    fact = scene.wait(5).start()
    assert (fact.type, scene.state, scene.envelope.revision) == (ft.STARTED, State.RUNNING, 2)
    assert scene.attempt.started_at == T0 + timedelta(seconds=5)


def test_a_claimed_retry_starts_and_runs() -> None:
    scene = Scene()
    scene.claim()
    scene.fail()
    scene.wait(10).claim(B, start=False)
    scene.start(B)
    assert scene.state is State.RUNNING


def test_what_runs_already_cannot_start_again() -> None:
    scene = Scene()
    scene.claim(start=True)
    with pytest.raises(InvalidTransition, match="started already"):
        scene.start()


def test_work_is_handed_outside_and_the_lease_lasts_until_someone_reconciles() -> None:
    scene = Scene()
    scene.claim()
    fact = scene.dispatch(external_ref="slurm:77")
    assert (fact.type, scene.state, scene.envelope.revision) == (ft.DISPATCHED, State.WAITING_EXTERNAL, 3)
    assert fact.data == {"external_ref": "slurm:77"}
    assert (scene.attempt.expires_at, scene.attempt.external_ref) == (FOREVER, "slurm:77")


def test_work_is_handed_outside_until_a_deadline() -> None:
    scene = Scene()
    scene.claim()
    fact = scene.dispatch(deadline=T0 + timedelta(hours=8))
    assert fact.data == {"deadline": "2026-01-05T20:00:00.000000+00:00"}
    assert scene.attempt.expires_at == T0 + timedelta(hours=8)


def test_work_that_was_only_claimed_begins_when_it_is_handed_outside() -> None:
    scene = Scene()
    scene.claim(start=False)
    scene.wait(7).dispatch()
    assert scene.attempt.started_at == T0 + timedelta(seconds=7)


def test_work_that_had_begun_keeps_its_beginning() -> None:
    scene = Scene()
    scene.claim()
    scene.wait(7).dispatch()
    assert scene.attempt.started_at == T0


@pytest.mark.parametrize("seconds", [0, -1])
def test_a_deadline_that_has_passed_is_refused(seconds: int) -> None:
    scene = Scene()
    scene.claim()
    with pytest.raises(InvalidRequest, match="deadline has passed"):
        scene.dispatch(deadline=T0 + timedelta(seconds=seconds))


def test_a_subject_with_several_slots_cannot_wait_for_outside_work() -> None:
    scene = Scene(slots=2)
    scene.claim()
    with pytest.raises(InvalidTransition, match="several slots"):
        scene.dispatch()


def test_outside_work_that_came_back_runs_again() -> None:
    scene = Scene()
    scene.claim()
    scene.dispatch()
    scene.start()
    assert (scene.state, scene.attempt.lease_status) == (State.RUNNING, LeaseStatus.ACTIVE)


def test_what_runs_outside_has_the_lease_until_its_deadline() -> None:
    scene = Scene()
    scene.claim()
    scene.dispatch()
    scene.start(deadline=T0 + timedelta(days=3))
    assert (scene.state, scene.attempt.expires_at) == (State.RUNNING, T0 + timedelta(days=3))


@pytest.mark.parametrize("seconds", [0, -1])
def test_nothing_starts_with_a_deadline_that_has_passed(seconds: int) -> None:
    scene = Scene()
    scene.claim()
    scene.dispatch()
    with pytest.raises(InvalidRequest, match="deadline has passed"):
        scene.start(deadline=T0 + timedelta(seconds=seconds))


def test_what_waits_outside_cannot_be_handed_outside_again() -> None:
    scene = Scene()
    scene.claim()
    scene.dispatch(idempotency_key="one")
    with pytest.raises(InvalidTransition):
        scene.dispatch(idempotency_key="two")


def test_two_holders_of_one_subject_both_start() -> None:
    scene = Scene(slots=2)
    scene.claim(A, start=False)
    scene.claim(B, start=True)
    scene.start(A)
    assert (scene.state, scene.lease_of(A).started_at) == (State.RUNNING, T0)


def test_a_shared_subject_stays_open_while_a_slot_is_free() -> None:
    scene = Scene(slots=2)
    scene.claim(A, start=False)
    scene.start(A)
    assert (scene.state, scene.envelope.slots_free) == (State.READY, 1)
