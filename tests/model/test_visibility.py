"""The visibility rule and its reasons (S1 sections 3.1 and 9.3; design 01, Reading): each is reached and says why."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenure.model.states import State
from tenure.model.visibility import Reason, eligible_since, is_visible, obstacles
from tests.model.scene import T0, A, B, Scene, queue
from tests.model.sentences import is_advice, is_message


def fresh(**submission: Any) -> Scene:
    return Scene(**submission)


def completed() -> Scene:
    scene = Scene()
    scene.claim()
    scene.complete()
    return scene


def dead() -> Scene:
    scene = Scene(max_attempts=1)
    scene.claim()
    scene.fail()
    return scene


def held() -> Scene:
    scene = Scene()
    scene.hold(hold_code="QC", reason="label smudged")
    return scene


def leased() -> Scene:
    scene = Scene()
    scene.claim(start=False)
    return scene


def running() -> Scene:
    scene = Scene()
    scene.claim()
    return scene


def retried() -> Scene:
    scene = running()
    scene.fail()
    return scene


def waiting() -> Scene:
    scene = running()
    scene.dispatch()
    return scene


def disabled() -> Scene:
    scene = Scene()
    scene.queues["q"] = queue(enabled=False, disabled_reason="stop the line")
    return scene


def cancel_requested() -> Scene:
    # No action of the kernel leaves the flag on a live subject; S1 section 3.1 still has it in the rule.
    from dataclasses import replace

    scene = Scene()
    scene.thread = replace(scene.thread, envelope=replace(scene.envelope, cancel_requested=True))
    return scene


def queueless() -> Scene:
    return Scene(ready=False, queue_key=None)


def unknown_queue() -> Scene:
    scene = Scene()
    del scene.queues["q"]
    return scene


def foreign_template() -> Scene:
    return Scene(policy={"subject_template_codes": ("content/material/specimen/1.0",)})


def foreign_site() -> Scene:
    return Scene(policy={"site_scope": ("sfo",)}, site="muc")


def shared_full() -> Scene:
    scene = Scene(slots=2)
    scene.claim(A)
    scene.complete(A)
    scene.claim(B)
    return scene


def lapsed_for_good() -> Scene:
    scene = Scene(max_attempts=1)
    scene.claim()
    return scene.wait(60)


RETRY = {"retry_at": "2026-01-05T12:00:10.000000+00:00", "attempt_count": 1}

CASES: dict[str, tuple[Scene, str, dict[str, Any]]] = {
    # S1 section 9.3, in its order; capability mismatch is about workers and tested with `why`.
    "active hold": (held(), "hold_active", {"hold": "HX-102C", "placed_by": "tester"}),
    "active lease": (leased(), "active_lease", {"slots_total": 1}),
    "retry window not reached": (retried(), "retry_window", RETRY),
    "next queue key missing": (queueless(), "next_queue_missing", {}),
    "state not eligible": (waiting(), "state_not_eligible", {"state": "WAITING_EXTERNAL"}),
    "queue disabled": (disabled(), "queue_disabled", {"queue_key": "q"}),
    "cancel requested": (cancel_requested(), "cancel_requested", {}),
    "terminal state": (completed(), "terminal_state", {"state": "COMPLETED"}),
    # The design's.
    "queue unknown": (unknown_queue(), "queue_unknown", {"queue_key": "q"}),
    "template not served": (foreign_template(), "template_not_served", {"template": "task/job/1.0"}),
    "scope mismatch": (foreign_site(), "scope_mismatch", {"site": "muc", "allowed": ["sfo"]}),
    "not yet due": (
        fresh(ready_at=T0 + timedelta(hours=1)), "not_yet_due", {"ready_at": "2026-01-05T13:00:00.000000+00:00"},
    ),
    "attempts exhausted": (lapsed_for_good(), "attempts_exhausted", {"attempt_count": 1}),
}  # fmt: skip


def the(reasons: list[Reason], code: str) -> Reason:
    found = [r for r in reasons if r.code == code]
    assert found, f"{code} is not among {[r.code for r in reasons]}"
    return found[0]


def test_a_fresh_subject_is_visible_without_any_reason() -> None:
    assert fresh().why() == []


@pytest.mark.parametrize("case", CASES)
def test_each_obstacle_is_found_with_its_evidence(case: str) -> None:
    scene, code, evidence = CASES[case]
    assert evidence.items() <= the(scene.why(), code).evidence.items()


@pytest.mark.parametrize("case", CASES)
def test_each_obstacle_says_what_would_change_it(case: str) -> None:
    scene, _, _ = CASES[case]
    assert [r for r in scene.why() if not (is_message(r.message) and is_advice(r.remedy))] == []


@pytest.mark.parametrize("case", [case for case in CASES if case != "queue disabled"])
def test_each_obstacle_keeps_the_subject_out_of_the_queue(case: str) -> None:
    scene, _, _ = CASES[case]
    assert not is_visible(scene.thread, scene.queues.get("q"), scene.now)


def test_a_disabled_queue_keeps_its_subjects_although_nobody_may_claim() -> None:
    scene = disabled()
    assert is_visible(scene.thread, scene.queues["q"], scene.now)
    assert the(scene.why(), "queue_disabled").blocking


def test_reasons_as_plain_data_have_all_their_parts() -> None:
    assert the(disabled().why(), "queue_disabled").as_dict() == {
        "code": "queue_disabled",
        "message": "Queue q is disabled: stop the line.",
        "remedy": "Enable the queue.",
        "evidence": {"queue_key": "q"},
        "blocking": True,
    }


def test_all_reasons_are_given_at_once() -> None:
    scene = Scene(policy={"enabled": False, "site_scope": ("sfo",)}, site="muc", ready_at=T0 + timedelta(hours=1))
    assert [r.code for r in scene.why()] == ["queue_disabled", "scope_mismatch", "not_yet_due"]


def test_each_scope_that_does_not_fit_is_named() -> None:
    scopes = {"site_scope": ("a",), "platform_scope": ("b",), "assay_scope": ("c",)}
    scene = Scene(policy=scopes, site="x", platform="y", assay="z")
    assert [r.message.split()[1] for r in scene.why()] == ["site", "platform", "assay"]


def test_a_scope_that_is_empty_on_either_side_fits() -> None:
    assert Scene(site="muc").why() == []
    assert Scene(policy={"site_scope": ("sfo",)}).why() == []


def test_both_of_two_holds_are_named() -> None:
    scene = held()
    scene.hold(hold_code="SAFETY", reason="fume hood broken")
    assert [r.message for r in scene.why()] == [
        "It is on hold (QC): label smudged",
        "It is on hold (SAFETY): fume hood broken",
    ]


def test_a_lease_names_its_holder_and_its_end() -> None:
    reason = the(leased().why(), "active_lease")
    assert reason.message == "A worker holds it under lease until 2026-01-05T12:01:00.000000+00:00."
    assert reason.evidence["leases"] == [
        {"lease": "LX-102C", "worker": "WX-24", "expires_at": "2026-01-05T12:01:00.000000+00:00"}
    ]


@pytest.mark.parametrize("scene", [running(), waiting()])
def test_of_work_under_way_its_lease_is_told_before_that_its_state_is_not_taken(scene: Scene) -> None:
    scene.queues["q"] = queue(enabled=False)
    assert [r.code for r in scene.why()] == ["active_lease", "state_not_eligible", "queue_disabled"]


def test_several_leases_count_their_holders_and_say_when_the_last_ends() -> None:
    scene = Scene(slots=2)
    scene.claim(A)
    scene.wait(5).claim(B)
    assert the(scene.why(), "active_lease").message.startswith(
        "2 workers hold it under lease until 2026-01-05T12:01:05"
    )


def test_slots_that_are_all_done_or_held_are_full() -> None:
    scene = shared_full()
    scene.complete(B)
    codes = [r.code for r in scene.why()]
    assert codes == ["terminal_state", "slots_full"]
    assert the(scene.why(), "slots_full").evidence == {"slots_total": 2, "slots_done": 2}


def test_a_subject_with_a_free_slot_is_visible_while_another_slot_is_held() -> None:
    scene = Scene(slots=2)
    scene.claim(A)
    assert scene.why() == []


def test_a_dead_letter_advises_to_look_at_it() -> None:
    assert "dead letter" in the(dead().why(), "terminal_state").remedy


@pytest.mark.parametrize(
    ("scene", "state"),
    [
        (Scene(ready=False), "PENDING"),
        (running(), "RUNNING"),
        (waiting(), "WAITING_EXTERNAL"),
        (Scene(policy={"eligible_states": ("FAILED_RETRYABLE",)}), "READY"),
    ],
)
def test_a_state_that_the_queue_does_not_take_says_which_it_takes(scene: Scene, state: str) -> None:
    evidence = the(scene.why(), "state_not_eligible").evidence
    assert evidence["state"] == state
    assert state not in evidence["eligible_states"]


def test_retries_are_not_visible_where_the_queue_takes_none() -> None:
    scene = Scene(policy={"eligible_states": ("READY",)})
    scene.claim()
    scene.fail()
    scene.wait(10)
    assert [r.code for r in scene.why()] == ["state_not_eligible"]


# The moments at which things change -------------------------------------------------------------------------------
def test_a_subject_is_visible_from_its_moment_on() -> None:
    scene = Scene(ready_at=T0 + timedelta(seconds=10))
    assert [bool(scene.wait(s).why()) for s in (9.999999, 0.000001)] == [True, False]


def test_a_retry_is_visible_from_its_moment_on() -> None:
    scene = retried()
    assert [bool(scene.wait(s).why()) for s in (9.999999, 0.000001)] == [True, False]


def test_a_lease_ends_at_its_very_moment() -> None:
    scene = leased()
    assert [scene.wait(s).why()[0].code for s in (59.999999, 0.000001)] == ["active_lease", "lease_expired"]


def test_a_lapsed_lease_does_not_block() -> None:
    scene = leased().wait(60)
    reason = the(scene.why(), "lease_expired")
    assert reason.blocking is False
    assert reason.evidence["lease"] == "LX-102C"


def test_running_work_whose_lease_lapsed_is_visible_before_any_sweep() -> None:
    scene = running().wait(60)
    assert is_visible(scene.thread, scene.queues["q"], scene.now)


def test_outside_work_whose_deadline_passed_stays_invisible() -> None:
    scene = running()
    scene.dispatch(deadline=T0 + timedelta(seconds=30))
    scene.wait(30)
    assert [r.code for r in scene.why()] == ["state_not_eligible"]


def test_work_that_lapsed_counts_from_that_moment() -> None:
    scene = running().wait(75)
    assert eligible_since(scene.thread, scene.now) == T0 + timedelta(seconds=60)


def test_work_that_never_began_keeps_its_place() -> None:
    scene = leased().wait(75)
    assert eligible_since(scene.thread, scene.now) == T0


def test_what_reads_say_before_a_sweep_is_what_the_sweep_leaves() -> None:
    for scene in (running(), leased(), lapsed_for_good()):
        scene.now = T0 + timedelta(seconds=75)
        before = (is_visible(scene.thread, scene.queues["q"], scene.now), eligible_since(scene.thread, scene.now))
        scene.expire()
        after = (is_visible(scene.thread, scene.queues["q"], scene.now), eligible_since(scene.thread, scene.now))
        assert before[0] == after[0]
        assert before[1] == after[1] or scene.state is State.FAILED_TERMINAL


def test_several_lapsed_slots_are_all_counted_before_a_sweep() -> None:
    scene = Scene(slots=2, max_attempts=2)
    scene.claim(A)
    scene.claim(B)
    scene.wait(60)
    assert [r.code for r in scene.why() if r.blocking] == ["attempts_exhausted"]
    scene.expire(A)
    scene.expire(B)
    assert scene.state is State.FAILED_TERMINAL


def test_a_hold_of_which_only_the_envelope_knows_still_blocks() -> None:
    from dataclasses import replace

    scene = held()
    thread = replace(scene.thread, holds={})
    assert [r.message for r in obstacles(thread, scene.queues["q"], scene.now)] == ["It is on hold: label smudged"]
