"""Manual boundaries: approvals and pauses (S3, Manual Boundaries)."""

from __future__ import annotations

import pytest

from tenure.flow.model.builder import Workflow, to
from tenure.flow.model.decisions.pause import decide_resume
from tenure.flow.model.decisions.unfolding import Context
from tenure.flow.model.errors import BoundaryConflict, RunEnded
from tenure.flow.model.requests import ResumeRun
from tenure.model.errors import IdempotencyConflict, SeqConflict
from tests.flow.model.scene import T0, RunScene


def signed(**approval: object) -> RunScene:
    flow = (
        Workflow("signed", queue="q", output="$.outputs.sign").approval("sign", **approval)
        .task("go", after="sign", input="$.outputs.sign.comment?")
    )  # fmt: skip
    return RunScene(flow.define()).start()


def test_an_approval_keeps_actor_decision_comment_and_time() -> None:
    scene = signed()
    assert (scene.status, scene.state.manual.step, scene.open) == ("PAUSED", "sign", [])
    scene.resolve("approved", comment="looks right", actor="user:ada")
    assert (scene.status, scene.payload("go")) == ("RUNNING", "looks right")
    scene.ok("go")
    assert scene.ended.output == {
        "decision": "approved", "actor": "user:ada", "at": "2026-01-05T12:00:00.000000+00:00", "comment": "looks right",
    }  # fmt: skip
    assert (scene.state.resolved.actor, scene.state.resolved.at) == ("user:ada", T0)


def test_a_rejection_that_nothing_handles_fails_the_run() -> None:
    scene = signed()
    scene.resolve("rejected", comment="too dear")
    end = scene.state.end
    assert (scene.status, end.code, end.step, end.message) == ("FAILED", "rejected", "sign", "too dear")


def test_a_rejection_may_lead_elsewhere_and_back() -> None:
    flow = (
        Workflow("redo", queue="q").task("draft", input="$.errors.sign.message?")
        .approval("sign", after="draft", on_error=to("draft", limit=1)).task("send", after="sign")
    )  # fmt: skip
    scene = RunScene(flow.define()).start()
    scene.ok("draft")
    scene.resolve("rejected", comment="shorter")
    assert scene.open == ["draft#2"]
    scene.ok("draft#2")
    assert scene.state.manual.iteration == 2
    scene.resolve("rejected")
    assert scene.status == "FAILED"


def test_approve_twice_with_the_same_key_changes_nothing() -> None:
    scene = signed()
    scene.resolve("approved", idempotency_key="k1")
    first = next(f for f in scene.facts if f.idempotency_key == "k1")
    again = scene.resolve("approved", idempotency_key="k1", replay=first)
    assert (again.facts, again.replayed) == ((), first)


def test_the_same_key_with_another_decision_is_a_conflict() -> None:
    scene = signed()
    scene.resolve("approved", idempotency_key="k1")
    first = next(f for f in scene.facts if f.idempotency_key == "k1")
    with pytest.raises(IdempotencyConflict):
        scene.resolve("rejected", idempotency_key="k1", replay=first)


def test_approve_twice_with_a_different_key_is_a_conflict_that_names_the_first() -> None:
    scene = signed()
    scene.resolve("approved", idempotency_key="k1", actor="user:ada")
    with pytest.raises(BoundaryConflict) as caught:
        scene.resolve("approved", idempotency_key="k2", actor="user:bob")
    assert caught.value.evidence["decided"] == {"step": "sign", "decision": "approved", "actor": "user:ada"}


def test_approve_after_terminal() -> None:
    scene = signed()
    scene.resolve("approved")
    scene.ok("go")
    with pytest.raises(RunEnded):
        scene.resolve("approved", idempotency_key="k2")


def test_second_pause_waits_until_the_first_is_resolved() -> None:
    scene = RunScene(Workflow("two").approval("one").approval("two").define()).start()
    assert (scene.state.manual.step, scene.types().count("step_paused")) == ("one", 1)
    scene.resolve("approved", step="one")
    assert (scene.state.manual.step, scene.status) == ("two", "PAUSED")
    with pytest.raises(BoundaryConflict):
        scene.resolve("approved", step="one")
    scene.resolve("approved", step="two")
    assert scene.status == "COMPLETED"


def test_a_decision_on_another_time_round_is_a_conflict() -> None:
    scene = signed()
    with pytest.raises(BoundaryConflict):
        scene.resolve("approved", step="sign", iteration=2)


def test_other_branches_go_on_while_one_stands() -> None:
    scene = RunScene(Workflow("side", queue="q").approval("sign").task("a").task("b", after="a").define()).start()
    scene.ok("a")
    assert (scene.status, scene.open) == ("PAUSED", ["b"])
    scene.ok("b")
    assert scene.status == "PAUSED"
    scene.resolve("approved")
    assert scene.status == "COMPLETED"


def test_a_pause_step_is_resumed_and_not_approved() -> None:
    scene = RunScene(Workflow("p", queue="q").pause("stand").task("a", after="stand").define()).start()
    with pytest.raises(BoundaryConflict):
        scene.resolve("approved")
    scene.resume(reason="go")
    assert (scene.open, scene.state.resolved.decision) == (["a"], "resumed")


def test_a_resume_that_comes_again_changes_nothing() -> None:
    scene = RunScene(Workflow("p", queue="q").pause("stand").task("a", after="stand").define()).start()
    scene.resume(reason="go", idempotency_key="k")
    first = next(f for f in scene.facts if f.idempotency_key == "k")
    asked = ResumeRun(reason="go", idempotency_key="k")
    again = decide_resume(scene.state, scene.definition, asked, Context(scene.now, "ada", replay=first))
    assert (again.facts, again.replayed) == ((), first)


def test_an_approval_is_approved_and_not_resumed() -> None:
    scene = signed()
    with pytest.raises(BoundaryConflict):
        scene.resume()


def test_resume_lets_the_whole_go_on_before_a_pause_step() -> None:
    scene = RunScene(Workflow("p", queue="q").pause("stand").task("a").define()).start()
    scene.pause()
    scene.resume()
    assert (scene.state.paused, scene.state.manual.step) == (False, "stand")
    scene.resume()
    assert scene.state.manual is None


def test_an_approval_that_nobody_gives_in_time_has_failed() -> None:
    scene = signed(deadline="2h")
    assert scene.timers == {"deadline:sign": T0.replace(hour=14)}
    assert scene.timer("deadline:sign").facts == ()
    scene.wait(7200)
    scene.timer("deadline:sign")
    assert (scene.status, scene.state.end.code, scene.told("step_resolved")[0]["decision"]) == (
        "FAILED",
        "deadline",
        "expired",
    )


def test_a_cancel_closes_the_boundary() -> None:
    scene = signed()
    scene.cancel()
    assert (scene.status, scene.state.manual, scene.told("step_resolved")[0]["decision"]) == (
        "CANCELED",
        None,
        "canceled",
    )


def test_a_decision_on_a_run_that_has_moved_on_is_refused() -> None:
    scene = signed()
    with pytest.raises(SeqConflict):
        scene.resolve("approved", expected_seq=1)
    scene.resolve("approved", expected_seq=2)
