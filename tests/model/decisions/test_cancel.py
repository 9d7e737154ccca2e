"""cancel_subject_execution (S1 section 4.3)."""

from __future__ import annotations

import pytest

from tenure.model import fact_types as ft
from tenure.model.errors import IdempotencyConflict, InvalidTransition, StateConflict
from tenure.model.states import HoldState, HoldStatus, LeaseStatus, RecordStatus, State
from tests.model.decisions.test_hold import in_state
from tests.model.scene import A, B, Scene


@pytest.mark.parametrize("state", ["PENDING", "READY", "RUNNING", "WAITING_EXTERNAL", "FAILED_RETRYABLE", "HELD"])
def test_any_nonterminal_subject_can_be_canceled(state: str) -> None:
    scene = in_state(state)
    before = scene.envelope.revision
    fact = scene.cancel(reason="enough")
    assert (fact.type, scene.state, scene.envelope.cancel_requested) == (ft.CANCELED, State.CANCELED, True)
    assert fact.data is not None
    assert fact.data["reason"] == "enough"
    assert scene.envelope.revision == before + 1


@pytest.mark.parametrize("state", ["COMPLETED", "CANCELED", "FAILED_TERMINAL"])
def test_a_terminal_subject_cannot_be_canceled(state: str) -> None:
    scene = in_state(state)
    with pytest.raises(InvalidTransition):
        scene.cancel()


def test_canceling_ends_every_live_lease_and_closes_its_record() -> None:
    scene = Scene(slots=2)
    scene.claim(A)
    scene.claim(B, start=False)
    scene.cancel()
    ended = [scene.lease_of(A), scene.lease_of(B)]
    assert {(a.lease_status, a.record_status, a.release_reason) for a in ended} == {
        (LeaseStatus.CANCELED, RecordStatus.CANCELED, "CANCELED")
    }
    assert scene.envelope.slots_free == 2


def test_canceling_closes_every_active_hold() -> None:
    scene = Scene()
    scene.hold()
    scene.hold()
    scene.cancel()
    assert {h.status for h in scene.thread.holds.values()} == {HoldStatus.RELEASED}
    assert {h.released_by for h in scene.thread.holds.values()} == {"tester"}
    assert scene.envelope.hold_state is HoldState.TERMINAL


def test_canceling_what_was_not_held_leaves_the_hold_state_alone() -> None:
    scene = Scene()
    scene.cancel()
    assert scene.envelope.hold_state is HoldState.NONE


def test_the_same_request_again_is_answered_by_the_same_fact() -> None:
    scene = Scene()
    first = scene.cancel(idempotency_key="k")
    assert scene.cancel(idempotency_key="k") is first


def test_another_reason_under_the_same_key_is_a_conflict() -> None:
    scene = Scene()
    scene.cancel(idempotency_key="k")
    with pytest.raises(IdempotencyConflict):
        scene.cancel(idempotency_key="k", reason="another")


def test_a_wrong_expected_state_is_a_conflict() -> None:
    scene = Scene()
    with pytest.raises(StateConflict):
        scene.cancel(expected_state="RUNNING")
    assert scene.state is State.READY
