"""complete_queue_execution (S1 section 4.3)."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tenure.model import fact_types as ft
from tenure.model.errors import InvalidTransition, QueueUnknown, TemplateNotServed
from tenure.model.states import LeaseStatus, RecordStatus, State
from tests.model.scene import T0, B, Scene, queue


def test_work_that_is_done_completes_its_subject() -> None:
    scene = Scene()
    scene.claim()
    fact = scene.wait(5).complete()
    assert (fact.type, fact.data, scene.state, scene.envelope.revision) == (ft.COMPLETED, None, State.COMPLETED, 3)
    assert (scene.envelope.next_queue_key, scene.envelope.slots_free, scene.envelope.slots_done) == ("q", 0, 1)


def test_a_completed_lease_has_a_succeeded_record() -> None:
    scene = Scene()
    scene.claim()
    scene.wait(5).complete()
    attempt = scene.attempt
    assert (attempt.lease_status, attempt.record_status) == (LeaseStatus.COMPLETED, RecordStatus.SUCCEEDED)
    assert (attempt.ended_at, attempt.release_reason) == (T0 + timedelta(seconds=5), None)
    assert (attempt.end_state, attempt.end_revision) == (State.COMPLETED, 3)


def test_the_result_is_left_for_the_row_and_is_no_part_of_the_fact() -> None:
    scene = Scene()
    scene.claim()
    fact = scene.complete(result={"yield": 7}, result_ref="s3://x")
    assert scene.details[scene.attempt.uid]["result"] == {"yield": 7}
    assert scene.details[scene.attempt.uid]["result_ref"] == "s3://x"
    assert fact.data is None


def test_outputs_are_edges_of_the_record() -> None:
    scene = Scene()
    scene.claim()
    fact = scene.complete(outputs=(70, 72))
    record = scene.attempt.uid + 1
    assert scene.thread.outputs == {(record, 70), (record, 72)}
    assert fact.data == {"outputs": [70, 72]}


def test_a_next_queue_sends_the_subject_on_with_a_fresh_count() -> None:
    scene = Scene(next_action_key="extract")
    scene.claim()
    scene.fail()
    scene.wait(10).claim(B)
    scene.complete(B, next_queue_key="next", next_action_key="sequence")
    env = scene.envelope
    assert (env.state, env.next_queue_key, env.next_action_key) == (State.READY, "next", "sequence")
    assert (env.attempt_count, env.retry_at, env.ready_at) == (0, None, scene.now)
    assert (env.slots_free, env.slots_done) == (1, 0)
    assert scene.why() == []


def test_a_subject_may_be_sent_on_for_later() -> None:
    scene = Scene()
    scene.claim()
    scene.complete(next_queue_key="next", ready_at=T0 + timedelta(hours=1))
    assert [r.code for r in scene.why()] == ["not_yet_due"]


def test_the_next_attempt_is_the_first_of_the_next_queue() -> None:
    scene = Scene()
    scene.claim()
    scene.complete(next_queue_key="next")
    scene.claim()
    assert (scene.attempt.queue_key, scene.attempt.attempt_number) == ("next", 1)


@pytest.mark.parametrize(
    ("key", "policy", "error"),
    [
        ("nowhere", None, QueueUnknown),
        ("next", {"retired_at": T0}, QueueUnknown),
        ("next", {"subject_template_codes": ("content/x/1.0",)}, TemplateNotServed),
    ],
)
def test_a_queue_that_cannot_take_it_is_refused(key: str, policy: dict[str, object] | None, error: type) -> None:
    scene = Scene()
    scene.claim()
    if policy:
        scene.queues["next"] = queue("next", **policy)
    with pytest.raises(error):
        scene.complete(next_queue_key=key)
    assert scene.state is State.RUNNING


def test_outside_work_may_be_completed_directly() -> None:
    scene = Scene()
    scene.claim()
    scene.dispatch()
    scene.complete()
    assert scene.state is State.COMPLETED


def test_work_that_never_started_cannot_be_completed() -> None:
    scene = Scene()
    scene.claim(start=False)
    with pytest.raises(InvalidTransition) as refused:
        scene.complete()
    assert "start" in refused.value.hint


def test_a_held_subject_cannot_be_completed() -> None:
    # The hold has ended the lease, so the holder is told that its lease is stale.
    scene = Scene()
    scene.claim()
    scene.hold()
    with pytest.raises(Exception, match="ABANDONED"):
        scene.complete()
    assert scene.state is State.HELD
