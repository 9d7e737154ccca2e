"""claim_queue_item, once a candidate was chosen (S1 section 6.2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenure.model import fact_types as ft
from tenure.model.decisions.claim import state_after_claim
from tenure.model.errors import InvalidTransition, QueueUnknown
from tenure.model.states import LeaseStatus, RecordStatus, State
from tests.model.scene import T0, A, B, Scene, queue, token_of


def test_a_claim_gives_a_lease_and_a_started_record() -> None:
    scene = Scene(next_action_key="extract")
    fact = scene.claim(start=False)
    attempt = scene.attempt
    assert (fact.type, fact.lease, fact.worker, fact.state, fact.revision) == (
        ft.CLAIMED,
        attempt.uid,
        A,
        State.READY,
        1,
    )
    assert (attempt.lease_status, attempt.record_status) == (LeaseStatus.ACTIVE, RecordStatus.STARTED)
    assert (attempt.claimed_at, attempt.expires_at, attempt.ttl_seconds) == (T0, T0 + timedelta(seconds=60), 60)
    assert (attempt.attempt_number, attempt.slot, attempt.worker, attempt.queue_key) == (1, 1, A, "q")
    assert (attempt.start_state, attempt.start_revision, attempt.action_key) == (State.READY, 1, "extract")
    assert (attempt.started_at, attempt.ended_at, attempt.incarnation) == (None, None, 1)
    assert (scene.envelope.slots_free, scene.envelope.last_record) == (0, attempt.uid + 1)


def test_a_claim_without_start_leaves_state_and_revision_alone() -> None:
    scene = Scene()
    scene.claim(start=False)
    assert (scene.state, scene.envelope.revision, scene.envelope.seq) == (State.READY, 1, 2)


def test_a_claim_with_start_is_running_told_by_one_fact() -> None:
    scene = Scene()
    fact = scene.claim(start=True)
    assert (scene.state, scene.envelope.revision, scene.envelope.seq) == (State.RUNNING, 2, 2)
    assert scene.attempt.started_at == T0
    assert fact.data == {"ttl": 60, "started": True}


def test_a_claim_may_ask_for_another_time_to_live() -> None:
    scene = Scene()
    scene.claim(ttl_seconds=5)
    assert scene.attempt.expires_at == T0 + timedelta(seconds=5)


def test_a_retry_keeps_its_state_until_it_is_started() -> None:
    scene = Scene()
    scene.claim()
    scene.fail()
    scene.wait(10).claim(B, start=False)
    assert (scene.state, scene.attempt.attempt_number) == (State.FAILED_RETRYABLE, 2)


def test_a_later_incarnation_is_told() -> None:
    scene = Scene()
    scene.workers[A] = scene.workers[A].model_copy(update={"incarnation": 4})
    fact = scene.claim()
    assert fact.data is not None
    assert (fact.data["incarnation"], scene.attempt.incarnation) == (4, 4)


def test_the_raw_claim_leaves_the_token_hash_and_its_key_for_the_row() -> None:
    scene = Scene()
    scene.claim(idempotency_key="k")
    details = scene.details[scene.attempt.uid]
    assert (details["token_hash"], details["queue"], details["shared"], details["claim_key"]) == (
        token_of(A), 10, False, "k",
    )  # fmt: skip
    assert len(details["claim_hash"]) == 32


def test_a_claim_without_key_leaves_no_hash_for_the_row() -> None:
    scene = Scene()
    scene.claim()
    details = scene.details[scene.attempt.uid]
    assert (details["claim_key"], details["claim_hash"]) == (None, None)


@pytest.mark.parametrize("then", ["hold", "cancel", "complete", "dispatch"])
def test_what_is_not_ready_cannot_be_claimed(then: str) -> None:
    scene = Scene()
    scene.claim()
    getattr(scene, then)()
    with pytest.raises(InvalidTransition):
        scene.claim(B, queue_key="q")


def test_a_retired_queue_gives_nothing() -> None:
    scene = Scene()
    scene.queues["q"] = queue(retired_at=T0)
    with pytest.raises(QueueUnknown):
        scene.claim()


@pytest.mark.parametrize(
    ("slots", "free", "start", "state", "after"),
    [
        (1, 1, False, State.READY, State.READY),
        (1, 1, True, State.READY, State.RUNNING),
        (1, 1, True, State.FAILED_RETRYABLE, State.RUNNING),
        (1, 1, False, State.FAILED_RETRYABLE, State.FAILED_RETRYABLE),
        (3, 2, True, State.READY, State.READY),
        (3, 1, True, State.READY, State.RUNNING),
        (3, 1, False, State.READY, State.READY),
        (3, 2, True, State.FAILED_RETRYABLE, State.READY),
    ],
)
def test_a_subject_runs_once_it_was_started_and_no_slot_is_left(
    slots: int, free: int, start: bool, state: State, after: State
) -> None:
    from dataclasses import replace

    envelope: Any = replace(Scene(slots=slots).envelope, slots_free=free, state=state)
    assert state_after_claim(envelope, start=start) is after
