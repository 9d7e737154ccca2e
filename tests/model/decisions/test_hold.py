"""place_execution_hold and release_execution_hold (S1 section 8.7)."""

from __future__ import annotations

import pytest

from tenure.model import fact_types as ft
from tenure.model.errors import Conflict, IdempotencyConflict, InvalidTransition, NotFound, RevisionConflict
from tenure.model.states import HoldState, HoldStatus, LeaseStatus, RecordStatus, State
from tests.model.scene import A, B, Scene


def test_a_hold_stops_the_subject_with_evidence() -> None:
    scene = Scene()
    fact = scene.hold(hold_code="QC", reason="label smudged")
    env, hold = scene.envelope, scene.thread.active_holds[0]
    assert (fact.type, env.state, env.hold_state, env.hold_reason) == (
        ft.HOLD_PLACED, State.HELD, HoldState.ACTIVE, "label smudged",
    )  # fmt: skip
    assert (hold.hold_code, hold.reason, hold.placed_by, hold.placed_at) == ("QC", "label smudged", "tester", scene.now)
    assert (hold.subject, hold.queue_key, hold.worker, hold.status) == (env.uid, "q", None, HoldStatus.ACTIVE)
    assert env.revision == 2


@pytest.mark.parametrize("state", ["PENDING", "READY", "RUNNING", "WAITING_EXTERNAL", "FAILED_RETRYABLE", "HELD"])
def test_any_nonterminal_subject_can_be_held(state: str) -> None:
    scene = in_state(state)
    scene.hold()
    assert scene.state is State.HELD


@pytest.mark.parametrize("state", ["COMPLETED", "CANCELED", "FAILED_TERMINAL"])
def test_a_terminal_subject_cannot_be_held(state: str) -> None:
    scene = in_state(state)
    with pytest.raises(InvalidTransition):
        scene.hold()


def test_a_hold_ends_every_live_lease_and_closes_its_record() -> None:
    scene = Scene(slots=2)
    scene.claim(A)
    scene.claim(B)
    fact = scene.hold()
    ended = [scene.lease_of(A), scene.lease_of(B)]
    assert fact.data is not None
    assert fact.data["ended"] == [a.uid for a in ended]
    assert {(a.lease_status, a.record_status, a.release_reason) for a in ended} == {
        (LeaseStatus.ABANDONED, RecordStatus.CANCELED, "HELD")
    }
    assert scene.envelope.slots_free == 2


def test_a_released_hold_leaves_the_subject_ready() -> None:
    scene = Scene()
    scene.hold()
    fact = scene.wait(5).release_hold(reason="fine after all")
    env = scene.envelope
    assert (fact.type, env.state, env.hold_state, env.hold_reason) == (
        ft.HOLD_RELEASED, State.READY, HoldState.NONE, None,
    )  # fmt: skip
    assert fact.data is not None
    assert fact.data["reason"] == "fine after all"
    hold = scene.thread.holds[max(scene.thread.holds)]
    assert (hold.status, hold.released_by, hold.released_at) == (HoldStatus.RELEASED, "tester", scene.now)


def test_a_released_retry_waits_for_its_window_again() -> None:
    scene = Scene()
    scene.claim()
    scene.fail()
    scene.hold()
    scene.release_hold()
    assert (scene.state, [r.code for r in scene.why()]) == (State.FAILED_RETRYABLE, ["retry_window"])


def test_two_holds_stay_held_until_both_are_released() -> None:
    scene = Scene()
    scene.hold(reason="first")
    scene.hold(reason="second")
    first, second = (h.uid for h in scene.thread.active_holds)
    scene.release_hold(hold=second)
    assert (scene.state, scene.envelope.hold_state, scene.envelope.hold_reason) == (
        State.HELD, HoldState.ACTIVE, "first",
    )  # fmt: skip
    scene.release_hold(hold=first)
    assert (scene.state, scene.envelope.hold_state) == (State.READY, HoldState.NONE)


def test_which_of_two_holds_is_to_be_released_must_be_said() -> None:
    scene = Scene()
    scene.hold()
    scene.hold()
    with pytest.raises(Conflict, match="several active holds") as refused:
        scene.release_hold()
    assert len(refused.value.evidence["holds"]) == 2
    assert ", ".join(refused.value.evidence["holds"]) in str(refused.value)


def test_a_hold_of_another_subject_is_not_found() -> None:
    scene = Scene()
    scene.hold()
    with pytest.raises(NotFound):
        scene.release_hold(hold=2)


def test_a_hold_is_released_once() -> None:
    scene = Scene()
    scene.hold()
    scene.hold()
    first = scene.thread.active_holds[0].uid
    scene.release_hold(hold=first)
    with pytest.raises(Conflict, match="released already"):
        scene.release_hold(hold=first)


def test_a_subject_that_is_not_held_has_nothing_to_release() -> None:
    with pytest.raises(InvalidTransition):
        Scene().release_hold()


@pytest.mark.parametrize("what", ["hold", "release_hold"])
def test_the_same_request_again_is_answered_by_the_same_fact(what: str) -> None:
    scene = Scene()
    if what == "release_hold":
        scene.hold()
    first = getattr(scene, what)(idempotency_key="k")
    assert getattr(scene, what)(idempotency_key="k") is first
    assert len(scene.thread.holds) == 1


@pytest.mark.parametrize("what", ["hold", "release_hold"])
def test_another_reason_under_the_same_key_is_a_conflict(what: str) -> None:
    scene = Scene()
    scene.hold(idempotency_key="k")
    if what == "release_hold":
        scene.release_hold(idempotency_key="k")
    with pytest.raises(IdempotencyConflict):
        getattr(scene, what)(idempotency_key="k", reason="another reason")


@pytest.mark.parametrize("what", ["hold", "release_hold"])
def test_a_wrong_expected_revision_is_a_conflict(what: str) -> None:
    scene = Scene()
    scene.hold()
    with pytest.raises(RevisionConflict):
        getattr(scene, what)(expected_revision=1)


def in_state(state: str) -> Scene:
    """A subject that stands there."""
    scene = Scene(ready=state != "PENDING", max_attempts=1 if state == "FAILED_TERMINAL" else 3)
    if state in ("RUNNING", "WAITING_EXTERNAL", "FAILED_RETRYABLE", "COMPLETED", "FAILED_TERMINAL"):
        scene.claim()
    if state == "WAITING_EXTERNAL":
        scene.dispatch()
    elif state.startswith("FAILED"):
        scene.fail()
    elif state == "COMPLETED":
        scene.complete()
    elif state == "CANCELED":
        scene.cancel()
    elif state == "HELD":
        scene.hold()
    assert str(scene.state) == state
    return scene
