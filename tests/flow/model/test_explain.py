"""Why a run does not move: every reason with its evidence and what to do."""

from __future__ import annotations

from typing import Any

from tenure.flow.model.builder import Workflow, to, when
from tenure.flow.model.decisions.signal import decide_await
from tenure.flow.model.explain import explain
from tenure.flow.model.fold import fold, nothing
from tenure.flow.model.requests import AwaitSignal
from tenure.model.visibility import Reason
from tests.flow.model.scene import RUN, RunScene, fact
from tests.flow.model.test_compensation import failed
from tests.model.scene import Scene
from tests.model.sentences import is_advice, is_message


def reasons(scene: RunScene, **whys: Any) -> dict[str, Reason]:
    found = explain(scene.state, scene.definition, scene.now, whys or None)
    for reason in found:
        assert is_message(reason.message), reason.message
        assert is_advice(reason.remedy), reason.remedy
    return {reason.code: reason for reason in found}


def run(flow: Workflow, data: Any = None) -> RunScene:
    return RunScene(flow.define(), data).start()


def test_a_step_under_way_tells_what_the_kernel_says_of_its_work() -> None:
    scene = run(Workflow("w", queue="q").task("a").task("b", after="a"))
    assert list(reasons(scene)) == ["runnable_under_way", "dependency_wait"]
    waiting = Reason(
        "in_queue", "It is visible in queue q, number 1.", "A higher priority moves it forward.", {}, blocking=False
    )
    assert reasons(scene, a=[waiting])["runnable_under_way"].message == (
        "Step 'a' waits for its work to end. It is visible in queue q, number 1."
    )
    held = Reason("hold_active", "It is on hold (QC): look at it", "Release the hold.")
    blocked = reasons(scene, a=[waiting, held])["runnable_blocked"]
    assert (blocked.blocking, blocked.remedy, len(blocked.evidence["why"])) == (True, "Release the hold.", 2)
    dead = Reason(
        "terminal_state", "The subject is FAILED_TERMINAL.", "Look at its dead letter.", {"state": "FAILED_TERMINAL"}
    )
    assert "dead_lettered" in reasons(scene, a=[dead])
    patient = run(Workflow("w", queue="q").task("a", on_dead_letter="wait"))
    patient.error("a", "no_disk", dead_letter=True)
    assert reasons(patient)["dead_lettered"].evidence["actions"] == ["requeue", "cancel"]
    assert reasons(scene)["dependency_wait"].evidence == {"step": "b", "waits_for": ["a"], "needs_route": False}


def test_work_that_waits_for_a_time_is_not_stuck() -> None:
    scene = run(Workflow("w", queue="q").task("a"))
    window = Reason("retry_window", "It failed and waits until noon before the next attempt.", "Wait.")
    waits = reasons(scene, a=[window])["runnable_under_way"]
    assert (waits.blocking, waits.remedy) == (False, "Wait.")
    assert waits.message.endswith("It failed and waits until noon before the next attempt.")
    held = Reason("hold_active", "It is on hold (QC): look at it", "Release the hold.")
    assert reasons(scene, a=[window, held])["runnable_blocked"].remedy == "Release the hold."


def test_work_under_a_live_lease_is_not_stuck() -> None:
    work = Scene()
    work.claim()
    working = work.why()
    assert [reason.code for reason in working] == ["active_lease", "state_not_eligible"]
    scene = run(Workflow("w", queue="q").task("a"))
    under_way = reasons(scene, a=working)["runnable_under_way"]
    assert (under_way.blocking, under_way.remedy) == (False, working[0].remedy)
    assert under_way.message == (
        "Step 'a' is being worked on. A worker holds it under lease until 2026-01-05T12:01:00.000000+00:00."
    )
    assert [why["code"] for why in under_way.evidence["why"]] == ["active_lease", "state_not_eligible"]
    items = run(Workflow("w", queue="q").map("m", "$.input"), [1, 2])
    held = Reason("hold_active", "It is on hold (QC): look at it", "Release the hold.")
    both = reasons(items, **{"m[0]": working, "m[1]": [held]})["items_under_way"]
    assert (both.blocking, list(both.evidence["why"])) == (True, ["m[1]"])
    assert reasons(items, **{"m[0]": working})["items_under_way"].blocking is False


def test_a_manual_boundary_and_what_is_queued_behind_it() -> None:
    scene = run(Workflow("w").approval("sign", deadline="1d").pause("stand"))
    scene.wait(60)
    found = reasons(scene)
    assert list(found) == ["manual_boundary", "boundary_queued"]
    boundary = found["manual_boundary"].evidence
    assert (boundary["step"], boundary["seconds"], boundary["actions"]) == ("sign", 60, ["approve", "reject", "cancel"])
    scene.resolve("approved")
    assert reasons(scene)["manual_boundary"].evidence["actions"] == ["resume", "cancel"]


def test_waits_for_time_and_signals() -> None:
    scene = run(Workflow("w").wait("nap", duration="1m").wait("s", signal="go"))
    found = reasons(scene)
    assert (found["waiting_until"].blocking, found["waiting_for_signal"].blocking) == (False, True)
    assert found["waiting_for_signal"].evidence["signal"] == "go"
    scene.wait(61)
    assert "timer_due" in reasons(scene)


def test_code_that_waits_for_a_signal() -> None:
    scene = run(Workflow("w", queue="q").task("a"))
    asked = AwaitSignal(runnable="a", name="go")
    scene.decide(lambda context: decide_await(scene.state, scene.definition, asked, context))
    assert reasons(scene)["code_waits_for_signal"].evidence["signal"] == "go"


def test_maps_tell_how_many_and_what_keeps_some() -> None:
    scene = run(Workflow("w", queue="q").map("m", "$.input", max_parallel=3), [1, 2, 3, 4])
    scene.ok("m[0]")
    found = reasons(scene)["items_under_way"]
    assert (found.evidence["items"]["ok"], found.evidence["open"], found.blocking) == (
        1,
        ["m[1]", "m[2]", "m[3]"],
        False,
    )
    held = Reason("hold_active", "It is on hold (QC): look at it", "Release the hold.")
    stuck = reasons(scene, **{"m[2]": [held]})["items_under_way"]
    assert (stuck.blocking, stuck.remedy, list(stuck.evidence["why"])) == (True, "Release the hold.", ["m[2]"])


def test_a_child_is_named() -> None:
    scene = run(Workflow("w").child("kid", "part"))
    child = reasons(scene)["child_under_way"].evidence
    assert child["run"].startswith("FX-")


def test_a_paused_run() -> None:
    scene = run(Workflow("w", queue="q").task("a").task("b", after="a"))
    scene.pause(reason="stop the line")
    scene.ok("a")
    assert list(reasons(scene)) == ["run_paused"]


def test_a_run_that_stops_or_undoes() -> None:
    scene = run(Workflow("w", queue="q").task("a", deadline="1m").task("b", after="a"))
    scene.wait(60)
    scene.timer("deadline:a")
    assert reasons(scene)["deadline_passed"].blocking is False
    scene.cancel()
    assert reasons(scene)["stopping"].evidence["under_way"] == ["a"]
    undoing = reasons(failed())["compensating"]
    assert (undoing.evidence["undoes"], undoing.evidence["with"], undoing.evidence["of"]) == ("charge", "refund", 2)


def test_an_ended_run() -> None:
    scene = run(Workflow("w", queue="q").task("a"))
    scene.error("a", "no_disk", message="The disk is full.")
    ended = reasons(scene)
    assert ended["run_ended"].message == "The run has ended as FAILED (no_disk at step 'a'): The disk is full."
    assert ended["run_ended"].evidence["actions"] == ["retry", "replay"]
    good = run(Workflow("w", queue="q").task("a"))
    good.ok("a")
    assert reasons(good)["run_ended"].evidence["actions"] == ["replay"]


def test_a_version_that_nobody_has() -> None:
    scene = run(Workflow("w", queue="q").task("a"))
    found = explain(scene.state, None, scene.now)
    assert [reason.code for reason in found] == ["version_missing", "runnable_under_way"]


def test_what_should_have_followed_and_did_not() -> None:
    scene = run(Workflow("w", queue="q").task("a").task("b", after="a"))
    scene.ok("a")
    torn = fold(scene.facts[:3], RUN)
    found = explain(torn, scene.definition, scene.now)
    assert [(reason.code, reason.evidence["steps"]) for reason in found] == [("not_planned", ["b"])]


def test_anomalies_and_a_run_that_never_began() -> None:
    state = fold([fact(1, "run.paused", {})], RUN)
    found = explain(state, None, fact(1, "x").at)
    assert [reason.code for reason in found] == ["anomalies", "not_started"]
    assert [reason.code for reason in explain(nothing(RUN), None, fact(1, "x").at)] == ["not_started"]


def test_steps_that_can_never_begin_are_no_reason() -> None:
    flow = (
        Workflow("w", queue="q")
        .task("a", routes=[to("x", when("$.outputs.a", "eq", 1)), "y"])
        .task("x")
        .task("y")
        .task("z", after="x")
    )
    scene = run(flow)
    scene.ok("a", 0)
    assert list(reasons(scene)) == ["runnable_under_way"]
