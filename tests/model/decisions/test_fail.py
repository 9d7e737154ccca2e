"""fail_queue_execution: the class of the error decides what follows (S1 sections 8.4 to 8.6)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenure.model import fact_types as ft
from tenure.model.errors import InvalidTransition, TemplateNotServed
from tenure.model.states import ErrorClass, HoldState, LeaseStatus, RecordStatus, Resolution, State
from tests.model.scene import T0, A, B, Scene, queue

#: S1 section 8.4.
OUTCOMES = {
    "TRANSIENT_SYSTEM": State.FAILED_RETRYABLE,
    "TRANSIENT_DEPENDENCY": State.FAILED_RETRYABLE,
    "TRANSIENT_CAPACITY": State.FAILED_RETRYABLE,
    "PERMANENT_INPUT": State.FAILED_TERMINAL,
    "PERMANENT_STATE": State.FAILED_TERMINAL,
    "BUSINESS_RULE_HOLD": State.HELD,
    "OPERATOR_CANCELED": State.CANCELED,
}
RECORDS = {
    State.FAILED_RETRYABLE: (LeaseStatus.RELEASED, RecordStatus.FAILED_RETRYABLE),
    State.FAILED_TERMINAL: (LeaseStatus.RELEASED, RecordStatus.FAILED_TERMINAL),
    State.HELD: (LeaseStatus.RELEASED, RecordStatus.FAILED_RETRYABLE),
    State.CANCELED: (LeaseStatus.CANCELED, RecordStatus.CANCELED),
}


def running(**submission: object) -> Scene:
    scene = Scene(**submission)
    scene.claim()
    return scene


def test_the_outcomes_are_of_all_error_classes() -> None:
    assert OUTCOMES.keys() == {str(c) for c in ErrorClass}


@pytest.mark.parametrize(("error_class", "after"), OUTCOMES.items())
def test_each_error_class_has_its_outcome(error_class: str, after: State) -> None:
    scene = running()
    fact = scene.wait(5).fail(error_class=error_class, error_code="E1")
    assert (fact.type, scene.state, scene.envelope.revision) == (ft.FAILED, after, 3)
    attempt = scene.attempt
    assert (attempt.lease_status, attempt.record_status) == RECORDS[after]
    assert (attempt.error_class, attempt.error_code, attempt.release_reason) == (error_class, "E1", "FAILED")
    assert (attempt.ended_at, attempt.end_state, attempt.end_revision) == (T0 + timedelta(seconds=5), after, 3)


@pytest.mark.parametrize("error_class", OUTCOMES)
def test_outside_work_fails_by_the_same_classes(error_class: str) -> None:
    scene = running()
    scene.dispatch()
    scene.fail(error_class=error_class)
    assert scene.state is OUTCOMES[error_class]


def test_a_retry_spends_an_attempt_and_waits_by_the_policy_of_the_queue() -> None:
    scene = running()
    scene.fail()
    env = scene.envelope
    assert (env.attempt_count, env.retry_at, env.next_queue_key) == (1, T0 + timedelta(seconds=10), "q")


def test_each_retry_waits_as_its_count_has_it() -> None:
    linear = {"mode": "LINEAR", "initial_delay_seconds": 10}
    scene = Scene(policy={"retry_policy": linear})
    scene.claim()
    scene.fail()
    scene.wait(10).claim(B)
    scene.fail(B)
    assert scene.envelope.retry_at == T0 + timedelta(seconds=10 + 20)


def test_a_handler_may_say_when_to_try_again() -> None:
    scene = running()
    scene.fail(retry_after_seconds=0.5)
    assert scene.envelope.retry_at == T0 + timedelta(seconds=0.5)


def test_a_handler_may_say_at_once() -> None:
    scene = running()
    scene.fail(retry_after_seconds=0)
    assert scene.why() == []


def test_a_retry_may_go_to_another_queue_by_its_policy() -> None:
    scene = running()
    scene.queues["next"] = queue("next", retry_policy={"mode": "CONSTANT", "initial_delay_seconds": 99})
    scene.fail(next_queue_key="next")
    assert (scene.envelope.next_queue_key, scene.envelope.retry_at) == ("next", T0 + timedelta(seconds=99))


def test_a_retry_may_not_go_to_a_queue_that_does_not_serve_it() -> None:
    scene = running()
    scene.queues["next"] = queue("next", subject_template_codes=("content/x/1.0",))
    with pytest.raises(TemplateNotServed):
        scene.fail(next_queue_key="next")


def test_the_message_is_left_for_the_row_and_is_no_part_of_the_fact() -> None:
    scene = running()
    fact = scene.fail(error_message="Traceback ...")
    assert scene.details[scene.attempt.uid] == {"error_message": "Traceback ...", "retryable": True}
    assert "Traceback" not in str(fact.data)


def test_a_record_that_is_not_retried_says_so() -> None:
    scene = running()
    scene.fail(error_class="PERMANENT_INPUT")
    assert scene.details[scene.attempt.uid]["retryable"] is False


# Dead letters -----------------------------------------------------------------------------------------------------
def test_max_attempts_dead_letter() -> None:
    scene = running()
    for _ in range(2):
        scene.fail()
        scene.wait(10).claim()
    scene.fail(error_code="E3")
    letter = scene.thread.open_dead_letter
    assert (scene.state, scene.envelope.attempt_count) == (State.FAILED_TERMINAL, 3)
    assert letter is not None
    assert (letter.subject, letter.queue_key, letter.attempt, letter.failure_count, letter.error_class) == (
        scene.envelope.uid, "q", scene.attempt.uid, 3, "TRANSIENT_SYSTEM",
    )  # fmt: skip
    assert (letter.dead_lettered_at, letter.resolution_state) == (scene.now, Resolution.OPEN)


@pytest.mark.parametrize(("limit", "after"), [(1, State.FAILED_TERMINAL), (2, State.FAILED_RETRYABLE)])
def test_a_subject_may_have_a_limit_of_its_own(limit: int, after: State) -> None:
    scene = running(max_attempts=limit)
    scene.fail()
    assert scene.state is after


def test_a_permanent_failure_is_a_dead_letter_at_once() -> None:
    scene = running()
    scene.fail(error_class="PERMANENT_STATE")
    letter = scene.thread.open_dead_letter
    assert letter is not None
    assert (letter.failure_count, letter.error_class) == (1, "PERMANENT_STATE")


def test_the_last_failure_does_not_look_at_the_queue_it_asked_for() -> None:
    scene = running(max_attempts=1)
    scene.fail(next_queue_key="nowhere")
    assert (scene.state, scene.envelope.next_queue_key) == (State.FAILED_TERMINAL, "q")


def test_a_retired_queue_still_has_the_limit_for_what_was_claimed_from_it() -> None:
    scene = running()
    scene.queues["q"] = queue(retired_at=T0, max_attempts_default=1)
    scene.fail()
    assert scene.state is State.FAILED_TERMINAL


# The other classes ------------------------------------------------------------------------------------------------
def test_a_business_rule_places_a_hold() -> None:
    scene = running()
    scene.fail(error_class="BUSINESS_RULE_HOLD", error_code="LOW_YIELD")
    env = scene.envelope
    assert (env.hold_state, env.hold_reason, env.attempt_count) == (HoldState.ACTIVE, "LOW_YIELD", 0)
    hold = scene.thread.active_holds[0]
    assert (hold.hold_code, hold.reason, hold.placed_by, hold.worker) == (
        "BUSINESS_RULE_HOLD",
        "LOW_YIELD",
        "tester",
        A,
    )


def test_a_canceled_attempt_cancels_its_subject_without_dead_letter() -> None:
    scene = running()
    scene.fail(error_class="OPERATOR_CANCELED")
    assert (scene.envelope.cancel_requested, scene.envelope.attempt_count) == (True, 0)
    assert scene.thread.dead_letters == {}


@pytest.mark.parametrize("error_class", ["TRANSIENT_SYSTEM", "TRANSIENT_DEPENDENCY", "TRANSIENT_CAPACITY"])
def test_work_that_never_started_cannot_fail_for_a_while(error_class: str) -> None:
    scene = Scene()
    scene.claim(start=False)
    with pytest.raises(InvalidTransition) as refused:
        scene.fail(error_class=error_class)
    assert "release the lease" in refused.value.hint


@pytest.mark.parametrize("error_class", ["PERMANENT_INPUT", "BUSINESS_RULE_HOLD", "OPERATOR_CANCELED"])
@pytest.mark.parametrize("retried", [False, True])
def test_work_that_never_started_can_fail_for_good(error_class: str, retried: bool) -> None:
    scene = Scene()
    if retried:
        scene.claim()
        scene.fail()
        scene.wait(10)
    scene.claim(B, start=False)
    scene.fail(B, error_class=error_class)
    assert scene.state is OUTCOMES[error_class]
