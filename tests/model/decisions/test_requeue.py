"""requeue_subject: routing, moving, reconciling, reopening (S1 sections 4.3, 4.6 and 8.3)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenure.model import fact_types as ft
from tenure.model.errors import (
    IdempotencyConflict,
    InvalidRequest,
    InvalidTransition,
    QueueUnknown,
    StateConflict,
    TemplateNotServed,
)
from tenure.model.states import HoldState, LeaseStatus, RecordStatus, Resolution, State
from tests.model.decisions.test_hold import in_state
from tests.model.scene import T0, A, B, Scene, queue


def test_a_prepared_subject_is_routed() -> None:
    scene = Scene(ready=False, queue_key=None)
    fact = scene.wait(5).requeue(queue_key="q", reason="prepared")
    env = scene.envelope
    assert (fact.type, env.state, env.next_queue_key, env.ready_at) == (ft.REQUEUED, State.READY, "q", scene.now)
    assert fact.data is not None
    assert fact.data["reason"] == "prepared"
    assert scene.why() == []


@pytest.mark.parametrize("state", ["PENDING", "READY", "RUNNING", "WAITING_EXTERNAL", "FAILED_RETRYABLE"])
def test_a_live_subject_is_requeued_with_a_fresh_count(state: str) -> None:
    scene = in_state(state)
    scene.requeue()
    env = scene.envelope
    assert (env.state, env.attempt_count, env.retry_at, env.slots_free) == (State.READY, 0, None, 1)
    assert scene.why() == []


def test_a_held_subject_is_not_requeued() -> None:
    scene = in_state("HELD")
    with pytest.raises(InvalidTransition) as refused:
        scene.requeue()
    assert "Release the hold first" in refused.value.hint


@pytest.mark.parametrize("state", ["COMPLETED", "CANCELED", "FAILED_TERMINAL"])
def test_a_terminal_subject_is_requeued_only_when_it_is_to_be_reopened(state: str) -> None:
    scene = in_state(state)
    with pytest.raises(InvalidTransition) as refused:
        scene.requeue()
    assert refused.value.evidence == {"action": "requeue_subject", "state": state}
    scene.requeue(reopen=True)
    assert (scene.state, scene.why()) == (State.READY, [])


def test_a_reopened_cancellation_is_undone() -> None:
    scene = in_state("HELD")
    scene.cancel()
    scene.requeue(reopen=True)
    env = scene.envelope
    assert (env.cancel_requested, env.hold_state, env.hold_reason) == (False, HoldState.NONE, None)


def test_reopening_resolves_the_dead_letter() -> None:
    scene = in_state("FAILED_TERMINAL")
    scene.wait(5).requeue(reopen=True)
    letter = scene.thread.dead_letters[max(scene.thread.dead_letters)]
    assert (letter.resolution_state, letter.resolved_by, letter.resolved_at) == (
        Resolution.REQUEUED, "tester", scene.now,
    )  # fmt: skip


def test_a_dead_letter_that_was_ignored_stays_so() -> None:
    scene = in_state("FAILED_TERMINAL")
    scene.resolve()
    scene.requeue(reopen=True)
    assert [d.resolution_state for d in scene.thread.dead_letters.values()] == [Resolution.IGNORED]


def test_requeueing_ends_every_live_lease_and_closes_its_record() -> None:
    scene = Scene(slots=2)
    scene.claim(A)
    scene.claim(B)
    leases = [scene.lease_of(A).uid, scene.lease_of(B).uid]
    scene.requeue()
    ended = [scene.thread.attempts[uid] for uid in leases]
    assert {(a.lease_status, a.record_status, a.release_reason) for a in ended} == {
        (LeaseStatus.ABANDONED, RecordStatus.CANCELED, "REQUEUED")
    }
    assert scene.envelope.slots_free == 2


@pytest.mark.parametrize("state", ["RUNNING", "WAITING_EXTERNAL"])
def test_reconciling_makes_a_new_record_without_lease(state: str) -> None:
    scene = in_state(state)
    revision = scene.envelope.revision
    scene.wait(5).requeue()
    record = scene.attempt
    assert (record.lease_status, record.record_status, record.worker) == (None, RecordStatus.CANCELED, None)
    assert (record.release_reason, record.action_key, record.attempt_number) == ("RECONCILED", "requeue_subject", 1)
    assert (record.start_state, record.start_revision) == (State(state), revision)
    assert (record.end_state, record.end_revision) == (State.READY, revision + 1)
    assert (record.started_at, record.ended_at, record.queue_key) == (scene.now, scene.now, "q")
    assert scene.envelope.last_record == record.uid + 1


@pytest.mark.parametrize("state", ["READY", "FAILED_RETRYABLE"])
def test_what_nobody_works_on_needs_no_reconciliation(state: str) -> None:
    scene = in_state(state)
    attempts = len(scene.thread.attempts)
    scene.requeue()
    assert len(scene.thread.attempts) == attempts


def test_a_subject_may_be_moved_with_another_priority_time_and_action() -> None:
    scene = Scene(next_action_key="extract")
    later = T0 + timedelta(hours=1)
    scene.requeue(queue_key="next", priority=-7, ready_at=later, next_action_key="sequence")
    env = scene.envelope
    assert (env.next_queue_key, env.priority, env.ready_at, env.next_action_key) == ("next", -7, later, "sequence")


def test_a_subject_that_moves_leaves_its_action_behind() -> None:
    scene = Scene(next_action_key="extract", priority=3)
    scene.requeue(queue_key="next")
    assert (scene.envelope.next_action_key, scene.envelope.priority) == (None, 3)


@pytest.mark.parametrize("key", [None, "q"])
def test_a_subject_that_stays_keeps_its_action(key: str | None) -> None:
    scene = Scene(next_action_key="extract")
    scene.requeue(queue_key=key)
    assert scene.envelope.next_action_key == "extract"


def test_a_subject_without_queue_must_be_given_one() -> None:
    scene = Scene(ready=False, queue_key=None)
    with pytest.raises(InvalidRequest, match="no queue yet"):
        scene.requeue()


@pytest.mark.parametrize(
    ("policy", "error"),
    [({"retired_at": T0}, QueueUnknown), ({"subject_template_codes": ("content/x/1.0",)}, TemplateNotServed)],
)
def test_a_queue_that_cannot_take_it_is_refused(policy: dict[str, object], error: type) -> None:
    scene = Scene()
    scene.queues["next"] = queue("next", **policy)
    with pytest.raises(error):
        scene.requeue(queue_key="next")


def test_the_same_request_again_is_answered_by_the_same_fact() -> None:
    scene = Scene()
    first = scene.requeue(idempotency_key="k", priority=2)
    assert scene.requeue(idempotency_key="k", priority=2) is first


def test_another_request_under_the_same_key_is_a_conflict() -> None:
    scene = Scene()
    scene.requeue(idempotency_key="k", priority=2)
    with pytest.raises(IdempotencyConflict):
        scene.requeue(idempotency_key="k", priority=3)
    assert scene.envelope.priority == 2


def test_a_wrong_expected_state_is_a_conflict() -> None:
    with pytest.raises(StateConflict):
        Scene().requeue(expected_state="RUNNING")
