"""Waits, signals, deadlines, and what the code of a task waits for and keeps."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from tenure.flow.model.builder import Workflow, to
from tenure.flow.model.decisions.children import decide_keep, keep_key
from tenure.flow.model.decisions.signal import decide_await
from tenure.flow.model.errors import RunEnded, SignalsFull
from tenure.flow.model.requests import AwaitSignal, KeepStep
from tenure.flow.model.state import MAX_SIGNALS
from tenure.model.errors import Conflict, IdempotencyConflict
from tests.flow.model.scene import T0, RunScene


def paid(**wait: Any) -> RunScene:
    flow = Workflow("paid", queue="q").wait("payment", signal="paid", **wait)
    return RunScene(flow.task("ship", after="payment", input="$.outputs.payment").define()).start()


def test_a_signal_lets_the_step_that_waits_for_it_go_on_with_its_payload() -> None:
    scene = paid()
    assert (scene.status, scene.open) == ("RUNNING", [])
    scene.signal("other", {"n": 0})
    scene.signal("paid", {"n": 1})
    assert (scene.payload("ship"), [s.name for s in scene.state.signals]) == ({"n": 1}, ["other"])


def test_a_signal_before_the_wait_is_kept_until_it() -> None:
    flow = (
        Workflow("early", queue="q")
        .task("a")
        .wait("w", signal="s", after="a")
        .task("b", after="w", input="$.outputs.w")
    )
    scene = RunScene(flow.define()).start()
    scene.signal("s", 1)
    scene.signal("s", 2)
    scene.ok("a")
    assert (scene.open, scene.payload("b"), len(scene.state.signals)) == (["b"], 1, 1)


def test_the_same_signal_again_is_no_second_one() -> None:
    scene = paid()
    scene.signal("x", idempotency_key="k")
    first = scene.facts[-1]
    assert scene.signal("x", idempotency_key="k", replay=first).facts == ()
    with pytest.raises(IdempotencyConflict):
        scene.signal("y", idempotency_key="k", replay=first)


def test_signals_that_nobody_takes_are_not_kept_without_end() -> None:
    scene = paid()
    scene.state = scene.state.model_copy(
        update={"signals": tuple(scene_signal(number) for number in range(MAX_SIGNALS))}
    )
    with pytest.raises(SignalsFull):
        scene.signal("x")


def scene_signal(number: int) -> Any:
    from tenure.flow.model.state import Signal

    return Signal(seq=number + 2, name="x")


def test_a_signal_after_the_end_is_refused() -> None:
    scene = paid()
    scene.cancel()
    with pytest.raises(RunEnded):
        scene.signal("paid")


def test_a_signal_that_does_not_come_in_time() -> None:
    scene = RunScene(
        Workflow("paid", queue="q").wait("payment", signal="paid", deadline="1d", on_error="late").task("late").define()
    ).start()
    scene.wait(86400)
    scene.timer("deadline:payment")
    assert scene.open == ["late"]


def test_a_wait_for_a_while_ends_when_its_time_has_come() -> None:
    scene = RunScene(Workflow("nap", queue="q").wait("nap", duration="90s").task("a", after="nap").define()).start()
    assert scene.timers == {"wait:nap": T0 + timedelta(seconds=90)}
    assert scene.timer("wait:nap").facts == ()
    scene.wait(90)
    scene.timer("wait:nap")
    assert (scene.open, scene.timers) == (["a"], {})
    assert scene.timer("wait:nap").facts == ()


def test_a_wait_until_a_time_that_the_input_names() -> None:
    flow = Workflow("at", queue="q").wait("w", until="$.input.at").define()
    scene = RunScene(flow, {"at": "2026-01-06T00:00:00+01:00"}).start()
    assert scene.timers["wait:w"] == T0 + timedelta(hours=11)
    bad = RunScene(flow, {"at": "tomorrow"}).start()
    assert (bad.status, bad.state.end.code) == ("FAILED", "bad_time")


def test_the_deadline_of_a_step_stops_its_work_and_then_it_has_failed() -> None:
    scene = RunScene(Workflow("d", queue="q").task("a", deadline="1m", on_error=to("b")).task("b").define()).start()
    assert scene.work["a"].deadline == T0 + timedelta(minutes=1)
    scene.wait(60)
    made = scene.timer("deadline:a")
    assert (scene.types()[-1], type(made.commands[0]).__name__) == ("deadline_passed", "CancelWork")
    assert scene.timer("deadline:a").facts == ()
    scene.canceled("a")
    assert (scene.open, scene.state.step("a").error.code) == (["b"], "deadline")
    assert scene.canceled("a").refusals == ()


def test_work_that_ends_well_although_it_is_late_has_ended_well() -> None:
    scene = RunScene(Workflow("d", queue="q").task("a", deadline="1m").define()).start()
    scene.wait(60)
    scene.timer("deadline:a")
    scene.ok("a")
    assert scene.status == "COMPLETED"


def test_the_deadline_of_a_run_fails_it() -> None:
    scene = RunScene(Workflow("d", queue="q", deadline="1h").task("a").define()).start()
    assert scene.timers == {"deadline": T0 + timedelta(hours=1)}
    scene.wait(3600)
    scene.timer("deadline")
    scene.canceled("a")
    assert (scene.status, scene.state.end.code, scene.timers) == ("FAILED", "deadline", {})


def test_timers_that_mean_nothing_change_nothing() -> None:
    scene = RunScene(Workflow("d", queue="q").task("a").define()).start()
    for key in ("", "deadline", "deadline:a", "wait:a", "wait:z", "deadline:a#2", "what:a", "wait:"):
        assert scene.timer(key).facts == ()


# Inside the code of a task -------------------------------------------------------------------------------------------
def ask(scene: RunScene, request: Any, verb: Any, replay: Any = None) -> Any:
    return scene.decide(lambda context: verb(scene.state, scene.definition, request, replace(context, replay=replay)))


def test_code_that_waits_for_a_signal_is_woken_by_it_and_then_gets_it() -> None:
    scene = RunScene(Workflow("code", queue="q").task("a").define()).start()
    wanted = AwaitSignal(runnable="a", name="ready", idempotency_key="await:a:1")
    assert [f.type for f in ask(scene, wanted, decide_await).facts] == ["run.signal_awaited"]
    assert ask(scene, wanted, decide_await).facts == ()
    scene.signal("ready", 5)
    assert scene.woken == ["a"]
    assert [f.type for f in ask(scene, wanted, decide_await).facts] == ["run.signal_taken"]
    assert (scene.state.signals, scene.state.waiters) == ((), ())
    assert ask(scene, wanted, decide_await, replay=scene.facts[-1]).replayed is scene.facts[-1]


def test_what_a_step_inside_a_task_gave_is_kept_once() -> None:
    scene = RunScene(Workflow("code", queue="q").task("a").define()).start()
    keep = KeepStep(runnable="a", name="download", ref="record:1")
    ask(scene, keep, decide_keep)
    fact = scene.facts[-1]
    assert (fact.type, fact.idempotency_key, scene.state.step("a").kept) == (
        "run.step_kept",
        keep_key("a", "download"),
        1,
    )
    again = ask(scene, keep.model_copy(update={"ref": "record:2"}), decide_keep, replay=fact)
    assert (again.facts, again.replayed) == ((), fact)


def test_code_of_a_run_that_has_ended_gets_and_keeps_nothing() -> None:
    scene = RunScene(Workflow("code", queue="q").task("a").define()).start()
    scene.ok("a")
    for request, verb in (
        (KeepStep(runnable="a", name="x"), decide_keep),
        (AwaitSignal(runnable="a", name="x"), decide_await),
    ):
        with pytest.raises(RunEnded):
            ask(scene, request, verb)


def test_code_of_a_step_that_has_ended_keeps_nothing_more() -> None:
    scene = RunScene(Workflow("code", queue="q").task("a").task("b", after="a").define()).start()
    scene.ok("a")
    for request, verb in (
        (KeepStep(runnable="a", name="x"), decide_keep),
        (AwaitSignal(runnable="a", name="x"), decide_await),
    ):
        with pytest.raises(Conflict):
            ask(scene, request, verb)
