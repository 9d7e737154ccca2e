"""Subjects that several workers hold at once (design 01, Slots)."""

from __future__ import annotations

import pytest

from tenure.model.states import LeaseStatus, RecordStatus, State
from tests.model.scene import A, B, C, Scene


def shared(slots: int = 2, **submission: object) -> Scene:
    return Scene(slots=slots, **submission)


def numbers(scene: Scene) -> tuple[int, int]:
    return scene.envelope.slots_free, scene.envelope.slots_done


def test_each_holder_has_a_slot_of_its_own() -> None:
    scene = shared(3)
    for holder in (A, B, C):
        scene.claim(holder)
    assert [scene.lease_of(h).slot for h in (A, B, C)] == [1, 2, 3]
    assert (scene.state, numbers(scene)) == (State.RUNNING, (0, 0))


def test_the_subject_is_done_when_every_slot_is() -> None:
    scene = shared()
    scene.claim(A)
    scene.claim(B)
    scene.complete(A)
    assert (scene.state, numbers(scene)) == (State.RUNNING, (0, 1))
    scene.complete(B)
    assert (scene.state, numbers(scene)) == (State.COMPLETED, (0, 2))


def test_one_slot_done_leaves_the_others_to_be_taken() -> None:
    scene = shared()
    scene.claim(A)
    scene.complete(A)
    assert (scene.state, numbers(scene), scene.why()) == (State.READY, (1, 1), [])


def test_a_slot_that_was_given_back_is_the_next_to_be_taken() -> None:
    scene = shared(3)
    scene.claim(A)
    scene.claim(B)
    scene.release(A)
    scene.claim(C)
    assert scene.lease_of(C).slot == 1


def test_a_slot_that_is_done_is_not_taken_again() -> None:
    scene = shared(3)
    scene.claim(A)
    scene.complete(A)
    scene.claim(B)
    assert scene.lease_of(B).slot == 2


def test_giving_back_one_of_all_slots_opens_the_subject_again() -> None:
    scene = shared()
    scene.claim(A)
    scene.claim(B)
    scene.release(B)
    assert (scene.state, numbers(scene)) == (State.READY, (1, 0))


def test_a_failed_slot_is_free_at_once_and_spends_an_attempt() -> None:
    scene = shared()
    scene.claim(A)
    scene.claim(B)
    scene.fail(A)
    env = scene.envelope
    assert (env.state, env.attempt_count, env.retry_at, numbers(scene)) == (State.READY, 1, None, (1, 0))
    assert scene.lease_of(B).live


@pytest.mark.parametrize(
    ("error_class", "state"),
    [
        ("PERMANENT_INPUT", State.FAILED_TERMINAL),
        ("BUSINESS_RULE_HOLD", State.HELD),
        ("OPERATOR_CANCELED", State.CANCELED),
    ],
)
def test_a_failure_that_stops_the_subject_ends_what_others_hold(error_class: str, state: State) -> None:
    scene = shared(3)
    scene.claim(A)
    scene.claim(B)
    fact = scene.fail(A, error_class=error_class)
    other = scene.lease_of(B)
    assert fact.data is not None
    assert fact.data["ended"] == [other.uid]
    assert (other.lease_status, other.record_status) == (LeaseStatus.ABANDONED, RecordStatus.CANCELED)
    assert (scene.state, scene.thread.live_attempts) == (state, [])


def test_the_last_attempt_of_all_slots_together_is_a_dead_letter() -> None:
    scene = shared(2, max_attempts=2)
    scene.claim(A)
    scene.claim(B)
    scene.fail(A)
    scene.fail(B)
    assert (scene.state, scene.envelope.attempt_count) == (State.FAILED_TERMINAL, 2)


def test_the_last_slot_sends_the_subject_on_with_all_slots_free() -> None:
    scene = shared()
    scene.claim(A)
    scene.complete(A, next_queue_key="next")
    assert (scene.state, scene.envelope.next_queue_key) == (State.READY, "q")
    scene.claim(B)
    scene.complete(B, next_queue_key="next")
    assert (scene.state, scene.envelope.next_queue_key, numbers(scene)) == (State.READY, "next", (2, 0))


def test_slots_are_counted_anew_in_the_next_queue() -> None:
    scene = shared()
    for holder in (A, B):
        scene.claim(holder)
        scene.complete(holder, next_queue_key="next")
    scene.claim(C)
    assert scene.lease_of(C).slot == 1


def test_slots_are_counted_anew_after_requeueing() -> None:
    scene = shared()
    for holder in (A, B):
        scene.claim(holder)
        scene.complete(holder)
    scene.requeue(reopen=True)
    scene.claim(C)
    scene.complete(C)
    scene.claim(A)
    assert (scene.lease_of(C).slot, scene.lease_of(A).slot) == (1, 2)
