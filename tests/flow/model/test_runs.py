"""How runs go: joins, routes, failures, compensation, boundaries, signals, maps, children."""

from __future__ import annotations

from tenure.flow.model.builder import Workflow
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
