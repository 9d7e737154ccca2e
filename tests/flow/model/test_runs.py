"""How runs go: joins, routes, failures, compensation, boundaries, signals, maps, children."""

from __future__ import annotations

import pytest

from tenure.flow.model.builder import Workflow, to, when
from tenure.flow.model.commands import CancelWork, ClearTimer
from tenure.flow.model.errors import NotPaused, ResultConflict, RunEnded, RunKeyConflict, VersionDrift
from tenure.flow.model.requests import Ended
from tests.flow.model.scene import RunScene


def test_a_plain_job_is_a_workflow_of_one_step() -> None:
    scene = RunScene(Workflow("job", queue="q", output="$.outputs.work").task("work").define(), {"n": 1}).start()
    assert scene.payload("work") == {"n": 1}
    scene.ok("work", {"done": True})
    assert (scene.status, scene.ended.output) == ("COMPLETED", {"done": True})


def test_concurrent_root_completions_and_the_join() -> None:
    flow = (
        Workflow("join", queue="q")
        .task("a")
        .task("b")
        .task("c", after=["a", "b"], input=["$.outputs.a", "$.outputs.b"])
    )
    scene = RunScene(flow.define()).start()
    assert scene.open == ["a", "b"]
    scene.ok("a", 1)
    assert scene.open == ["b"]
    scene.ok("b", 2)
    assert (scene.open, scene.payload("c")) == (["c"], [1, 2])
    assert scene.work["c"].parents == ("a", "b")


def test_concurrent_root_completions_in_one_set_plan_the_join_once() -> None:
    scene = RunScene(Workflow("join", queue="q").task("a").task("b").task("c", after=["a", "b"]).define()).start()
    scene.apply(scene.result("a"), scene.result("b"))
    assert scene.open == ["c"]
    assert scene.types().count("runnables_planned") == 2


def test_steps_in_any_order_of_writing_run_in_order_of_dependency() -> None:
    scene = RunScene(Workflow("order", queue="q").task("last", after="first").task("first").define()).start()
    assert scene.open == ["first"]
    scene.ok("first")
    assert scene.open == ["last"]


# Routes ---------------------------------------------------------------------------------------------------------------
MARK = "$.outputs.grade.mark"


def graded() -> Workflow:
    return (
        Workflow("graded", queue="q")
        .task("grade", routes=[to("praise", when(MARK, "lt", 3)), to("pass", when(MARK, "lt", 5)), "repeat"])
        .task("praise").task("pass").task("repeat")
    )  # fmt: skip


def test_conditional_route_kept() -> None:
    for mark, taken, number in ((1, "praise", 0), (3, "pass", 1), (6, "repeat", 2), (None, "repeat", 2)):
        scene = RunScene(graded().define()).start()
        scene.ok("grade", {"mark": mark})
        assert scene.open == [taken]
        kept = scene.told("runnable_applied")[-1]
        assert (kept["routes"], kept["to"]) == ([number], [taken])
        scene.ok(taken)
        assert scene.status == "COMPLETED"


def test_a_route_to_the_end_ends_its_branch() -> None:
    flow = (
        Workflow("stop", queue="q").task("a", routes=[to("b", when("$.outputs.a", "eq", 1)), "end"]).task("b").define()
    )
    scene = RunScene(flow).start()
    scene.ok("a", 2)
    assert scene.status == "COMPLETED"


def test_no_route_that_holds_fails_the_run_and_says_so() -> None:
    scene = RunScene(
        Workflow("none", queue="q").task("a", routes=[to("b", when("$.outputs.a", "eq", 1))]).task("b").define()
    )
    scene.start().ok("a", 2)
    assert (scene.status, scene.state.end.code, scene.state.end.step) == ("FAILED", "no_route", "a")


def test_fan_out_takes_every_route_that_holds() -> None:
    routes = [to("big", when("$.outputs.a", "gt", 10)), to("odd", when("$.outputs.a", "in", [11, 13])), "always"]
    flow = (
        Workflow("fan", queue="q")
        .task("a", routes=routes, fan_out=True)
        .task("big")
        .task("odd")
        .task("always")
        .define()
    )
    scene = RunScene(flow).start()
    scene.ok("a", 13)
    assert scene.open == ["big", "odd", "always"]


def test_arms_that_come_together_again_start_the_next_step_once() -> None:
    flow = (
        Workflow("merge", queue="q")
        .task("a", routes=[to("x", when("$.outputs.a", "eq", "x")), "y"])
        .task("x", on_ok="z", output="arm").task("y", on_ok="z", output="arm")
        .task("z", input="$.outputs.arm")
    )  # fmt: skip
    scene = RunScene(flow.define()).start()
    scene.ok("a", "x")
    scene.ok("x", "by x")
    assert (scene.open, scene.payload("z")) == (["z"], "by x")


def test_a_join_behind_a_route_that_was_not_taken_never_starts_and_the_run_completes() -> None:
    flow = (
        Workflow("skip", queue="q").task("a", routes=[to("x", when("$.outputs.a", "eq", 1)), "end"]).task("x").task("b")
        .task("j", after=["x", "b"])
    )  # fmt: skip
    scene = RunScene(flow.define()).start()
    scene.ok("a", 0)
    scene.ok("b")
    assert (scene.status, "j" in scene.work) == ("COMPLETED", False)


# Failure --------------------------------------------------------------------------------------------------------------
def test_a_failure_that_nothing_handles_fails_the_run_and_stops_the_rest() -> None:
    scene = RunScene(Workflow("fail", queue="q").task("a").task("b").define()).start()
    made = scene.error("a", "no_disk", message="The disk is full.")
    assert (scene.status, [str(c.runnable) for c in made.commands]) == ("RUNNING", ["b"])
    scene.canceled("b")
    end = scene.state.end
    assert (scene.status, end.code, end.step, end.message) == ("FAILED", "no_disk", "a", "The disk is full.")


def test_a_failure_that_is_handled_goes_on_and_tells_why() -> None:
    flow = (
        Workflow("handled", queue="q")
        .task("a", on_error=[to("wait", when("$.errors.a.code", "eq", "busy")), "give_up"])
        .task("wait").task("give_up", input={"why": "$.errors.a.code"})
    )  # fmt: skip
    scene = RunScene(flow.define()).start()
    scene.error("a", "broken")
    assert (scene.open, scene.payload("give_up")) == (["give_up"], {"why": "broken"})
    scene.ok("give_up")
    assert scene.status == "COMPLETED"


def test_mapping_failure_terminal() -> None:
    flow = Workflow("mapping", queue="q").task("a").task("b", after="a", input={"x": "$.outputs.a.x.y"}).define()
    scene = RunScene(flow).start()
    scene.ok("a", {"x": 1})
    end = scene.state.end
    assert (scene.status, end.code, end.step) == ("FAILED", "mapping_failed", "b")
    assert end.message == "$.outputs.a.x.y at input.x finds nothing"


def test_an_optional_path_finds_null() -> None:
    scene = RunScene(
        Workflow("maybe", queue="q").task("a", input={"x": "$.input.deep.x?", "y": "$$5"}).define(), {}
    ).start()
    assert scene.payload("a") == {"x": None, "y": "$5"}


def test_a_dead_letter_may_wait_for_an_operator() -> None:
    scene = RunScene(Workflow("patient", queue="q").task("a", on_dead_letter="wait").define()).start()
    made = scene.error("a", "no_disk", dead_letter=True)
    assert ([f.type for f in made.facts], scene.status, scene.open) == (["run.step_stuck"], "RUNNING", ["a"])
    assert scene.error("a", "no_disk", dead_letter=True).facts == ()
    scene.ok("a")
    assert (scene.status, scene.state.step("a").error) == ("COMPLETED", None)


def test_a_dead_letter_that_waits_does_not_keep_the_run_from_stopping() -> None:
    scene = RunScene(Workflow("patient", queue="q").task("a", on_dead_letter="wait", deadline="1m").define()).start()
    scene.error("a", "no_disk", dead_letter=True)
    scene.wait(60)
    made = scene.timer("deadline:a")
    assert (scene.status, scene.state.end.code) == ("FAILED", "deadline")
    assert isinstance(made.commands[0], ClearTimer | CancelWork)
    scene = RunScene(scene.definition).start()
    scene.error("a", "no_disk", dead_letter=True)
    scene.cancel()
    assert scene.status == "CANCELED"


def test_work_that_an_operator_canceled_has_failed() -> None:
    scene = RunScene(Workflow("op", queue="q").task("a").define()).start()
    scene.canceled("a")
    assert (scene.status, scene.state.end.code) == ("FAILED", "canceled")


def test_an_output_that_cannot_be_worked_out_fails_the_run() -> None:
    scene = RunScene(Workflow("out", queue="q", output="$.outputs.a.x").task("a").define()).start()
    scene.ok("a", 1)
    assert (scene.status, scene.state.end.code) == ("FAILED", "mapping_failed")


# What comes twice, late, or from elsewhere --------------------------------------------------------------------------
def chain() -> RunScene:
    return RunScene(Workflow("chain", queue="q").task("a").task("b", after="a").task("c", after="b").define()).start()


def test_apply_twice() -> None:
    scene = chain()
    news = scene.result("a", 1)
    scene.apply(news)
    again = scene.apply(news)
    assert (again.facts, again.commands, again.refusals) == ((), (), ())


def test_differing_result_refused() -> None:
    scene = chain()
    scene.ok("a", 1)
    other = scene.apply(scene.result("a", 2))
    assert (other.facts, other.refusals[0].code) == ((), "result_conflict")
    with pytest.raises(ResultConflict) as caught:
        scene.apply(scene.result("a", 3), strict=True)
    assert caught.value.evidence == {"runnable": "a", "reason": "result_conflict"}


def test_other_runs_result_ignored() -> None:
    scene = chain()
    for key in ("z", "b", "a#2", "a[0]", "not a key", ""):
        made = scene.apply(scene.result(key))
        assert (made.facts, made.refusals[0].code) == ((), "not_planned")
    assert scene.open == ["a"]


def test_a_refusal_keeps_nothing_else_from_being_applied() -> None:
    scene = chain()
    made = scene.apply(scene.result("z"), scene.result("a"))
    assert ([r.runnable for r in made.refusals], scene.open) == (["z"], ["b"])


def test_terminal_fences_what_comes_later() -> None:
    scene = chain()
    scene.error("a")
    made = scene.ok("a")
    assert (made.facts, made.refusals[0].code) == ((), "run_ended")


def test_version_drift() -> None:
    scene = chain()
    scene.definition = scene.definition.model_copy(update={"version": 2})
    with pytest.raises(VersionDrift):
        scene.ok("a")


def test_orphan_start_and_duplicate_start_after_completion() -> None:
    scene = RunScene(Workflow("job", queue="q").task("a").define(), {"n": 1}).start(key="k")
    again = scene.start(key="k").last
    assert (again.facts, again.commands) == ((), ())
    scene.ok("a")
    assert scene.start(key="k").last.facts == ()


def test_same_run_key_with_another_plan() -> None:
    scene = RunScene(Workflow("job", queue="q").task("a").define(), {"n": 1}).start(key="k")
    scene.input = {"n": 2}
    with pytest.raises(RunKeyConflict) as caught:
        scene.start(key="k")
    assert caught.value.evidence["differs"] == ["input"]


# Re-work --------------------------------------------------------------------------------------------------------------
def reviewed(limit: int = 2) -> Workflow:
    return (
        Workflow("reviewed", queue="q", output="$.outputs.label")
        .human("label", input={"data": "$.input", "said": "$.previous.review.why?"})
        .human(
            "review",
            after="label",
            routes=[to("label", when("$.outputs.review.ok", "eq", False), limit=limit), "store"],
        )
        .task("store", input=["$.outputs.label", "$.outputs.review?"])
    )


def test_rejected_work_is_done_again_as_a_new_unit_in_the_chain() -> None:
    scene = RunScene(reviewed().define(), "cat.png").start()
    scene.ok("label", "dog")
    scene.ok("review", {"ok": False, "why": "it is a cat"})
    assert (scene.open, scene.payload("label#2")) == (["label#2"], {"data": "cat.png", "said": "it is a cat"})
    assert scene.work["label#2"].parents == ("label",)
    scene.ok("label#2", "cat")
    scene.ok("review#2", {"ok": True})
    assert scene.payload("store") == ["cat", {"ok": True}]
    scene.ok("store")
    assert (scene.status, scene.ended.output) == ("COMPLETED", "cat")


def test_rework_may_be_for_somebody_else() -> None:
    scene = RunScene(
        Workflow("other", queue="q").human("a", by_another=True, on_error=to("a", limit=3)).define()
    ).start()
    scene.error("a")
    scene.error("a#2")
    assert (scene.work["a"].not_by, scene.work["a#3"].not_by) == ((), ("a", "a#2"))


def test_rework_of_more_steps_than_one_fact_can_name() -> None:
    flow = Workflow("wide", queue="q").task("first")
    names = [f"a_rather_long_name_of_a_step_in_the_middle_{number:04}" for number in range(300)]
    for name in names:
        flow = flow.task(name, after="first", input={})
    scene = RunScene(flow.task("check", after=names, on_error=to("first", limit=1)).define()).start()
    scene.ok("first")
    scene.apply(*(scene.result(name) for name in names))
    scene.error("check")
    assert (scene.open, scene.state.step(names[7]).iteration, scene.state.reworks) == (
        ["first#2"],
        2,
        {"check failed -> first": 1},
    )
    assert scene.types().count("route_followed") == 6


def test_what_work_says_of_its_failure_fits_into_a_fact_whatever_it_is() -> None:
    scene = RunScene(Workflow("loud", queue="q").task("a").define()).start()
    scene.error("a", "\x01" * 5000, message="\x02\U0001f4a5" * 90_000)
    assert scene.status == "FAILED"


def test_rework_has_a_limit_and_then_the_next_route_is_taken() -> None:
    scene = RunScene(reviewed(limit=1).define(), "cat.png").start()
    for key in ("label", "label#2"):
        scene.ok(key)
        scene.ok(key.replace("label", "review"), {"ok": False, "why": "no"})
    assert scene.open == ["store"]


def test_rework_stops_what_is_under_way_behind_it_and_keeps_what_is_not() -> None:
    flow = (
        Workflow("wide", queue="q").task("other").task("a").task("slow", after="a").wait("nap", after="a", duration="1h")
        .task("check", after="a", routes=[to("a", when("$.outputs.check", "eq", "bad"), limit=3), "end"])
    )  # fmt: skip
    scene = RunScene(flow.define()).start()
    scene.ok("a")
    made = scene.ok("check", "bad")
    assert [(type(c).__name__, str(getattr(c, "runnable", getattr(c, "key", "")))) for c in made.commands] == [
        ("CancelWork", "slow"), ("ClearTimer", "wait:nap"), ("Submit", "a#2"),
    ]  # fmt: skip
    assert scene.open == ["other", "slow", "a#2"]
    late = scene.ok("slow")
    assert late.refusals == ()
    assert scene.apply(scene.result("slow")).refusals[0].code == "stale_iteration"
    scene.ok("other")
    scene.ok("a#2")
    assert scene.open == ["slow#2", "check#2"]


def test_a_step_may_be_done_again_by_itself() -> None:
    scene = RunScene(Workflow("self", queue="q").task("a", on_error=to("a", limit=2)).define()).start()
    scene.error("a")
    scene.error("a#2")
    assert scene.open == ["a#3"]
    scene.error("a#3", "still")
    assert (scene.status, scene.state.end.code) == ("FAILED", "still")


def test_rework_closes_a_boundary_that_is_open_behind_it() -> None:
    flow = (
        Workflow("closing", queue="q").task("a").approval("sign", after="a")
        .task("check", after="a", routes=[to("a", when("$.outputs.check", "eq", "bad"), limit=3), "end"])
    )  # fmt: skip
    scene = RunScene(flow.define()).start()
    scene.ok("a")
    assert scene.state.manual.step == "sign"
    scene.ok("check", "bad")
    assert (scene.state.manual, scene.open) == (None, ["a#2"])
    scene.ok("a#2")
    assert (scene.state.manual.iteration, scene.told("step_paused")[-1]["iteration"]) == (2, 2)


# Log ------------------------------------------------------------------------------------------------------------------
def test_log_steps_write_their_line_and_go_on_in_the_same_pass() -> None:
    flow = (
        Workflow("log", queue="q").task("a").log("say", ["a gave ", "$.outputs.a.n", ""], after="a", on_ok="b", level="warning")
        .task("b")
    )  # fmt: skip
    scene = RunScene(flow.define()).start()
    scene.ok("a", {"n": 3})
    assert scene.told("step_logged") == [
        {"step": "say", "level": "warning", "message": "a gave 3", "routes": [0], "to": ["b"]}
    ]
    assert scene.open == ["b"]


def test_a_workflow_of_log_steps_alone_ends_as_it_starts() -> None:
    scene = RunScene(Workflow("talk").log("a", "one").log("b", "two", after="a").define()).start()
    assert (scene.types(), scene.status) == (["started", "step_logged", "step_logged", "terminal"], "COMPLETED")


# Pause of the whole -------------------------------------------------------------------------------------------------
def test_a_paused_run_keeps_what_ends_and_plans_nothing() -> None:
    scene = chain()
    scene.pause(reason="stop the line")
    scene.ok("a")
    assert (scene.status, scene.open) == ("PAUSED", [])
    assert scene.pause().facts == ()
    scene.resume()
    assert (scene.status, scene.open) == ("RUNNING", ["b"])
    with pytest.raises(NotPaused):
        scene.resume()


def test_a_cancel_of_what_was_canceled_changes_nothing_and_of_what_completed_is_refused() -> None:
    scene = chain()
    scene.cancel()
    scene.canceled("a")
    assert (scene.status, scene.cancel().facts) == ("CANCELED", ())
    done = RunScene(Workflow("job", queue="q").task("a").define()).start()
    done.ok("a")
    for act in (done.cancel, done.pause, done.resume, lambda: done.signal("s")):
        with pytest.raises(RunEnded) as caught:
            act()
        assert caught.value.evidence["status"] == "COMPLETED"


# Data -----------------------------------------------------------------------------------------------------------------
def test_only_the_data_that_is_read_is_asked_for_and_all_of_it_at_once() -> None:
    flow = (
        Workflow("lazy", queue="q").task("a", input={}).task("b", input={}).task("c", input={})
        .task("x", after=["a", "b", "c"], input=["$.outputs.a", "$.input"]).task("y", after=["a", "b", "c"], input="$.outputs.b")
    )  # fmt: skip
    scene = RunScene(flow.define(), 1).start()
    assert scene.loads == []
    for key in "abc":
        scene.ok(key, key)
    assert scene.loads == [{"input", "record:1", "record:2"}]


def test_a_wide_plan_is_told_by_several_facts_none_too_large() -> None:
    flow = Workflow("wide", queue="q")
    for number in range(400):
        flow = flow.task(f"a_rather_long_name_of_a_step_{number:04}", input={}, deadline="1h")
    scene = RunScene(flow.define()).start()
    planned = scene.told("runnables_planned")
    assert len(planned) > 1
    assert sum(len(one["runnables"]) for one in planned) == 400 == len(scene.open)


def test_news_of_many_runnables_is_one_decision() -> None:
    scene = RunScene(Workflow("two", queue="q").task("a").task("b").define()).start()
    scene.apply(scene.result("a"), Ended(runnable="b", outcome="error", error_class="PERMANENT_INPUT"))
    assert (scene.status, scene.state.end.code) == ("FAILED", "PERMANENT_INPUT")
