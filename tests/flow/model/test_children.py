"""Child runs (S3, Child Run Lineage)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tenure.flow.model.builder import Workflow
from tenure.flow.model.decisions.children import child_identity, decide_start_child
from tenure.flow.model.errors import ChildKeyConflict, RunEnded
from tenure.flow.model.requests import Ended, StartChildRun
from tenure.model.errors import Conflict
from tests.flow.model.scene import RunScene


def test_a_child_step_starts_a_run_and_goes_on_with_its_output() -> None:
    flow = (
        Workflow("p", queue="q").child("sub", "part", version=3, input={"n": "$.input"}, key="$.input")
        .task("b", after="sub", input="$.outputs.sub")
    )  # fmt: skip
    scene = RunScene(flow.define(), "k7").start()
    child = scene.work["sub"]
    assert (child.workflow, child.version, child.input, child.child_key) == ("part", 3, {"n": "k7"}, "k7")
    told = scene.told("child_started")[0]
    assert (told["children"], scene.state.step("sub").child) == ([{"run": child.run, "child_key": "k7"}], child.run)
    scene.ok("sub", 5)
    assert scene.payload("b") == 5


def test_a_child_that_fails_fails_its_step() -> None:
    scene = RunScene(Workflow("p").child("sub", "part").define()).start()
    scene.error("sub", "rejected")
    assert (scene.status, scene.state.end.code, scene.state.end.step) == ("FAILED", "rejected", "sub")


def test_a_cancel_of_the_parent_cancels_the_child() -> None:
    scene = RunScene(Workflow("p").child("sub", "part").define()).start()
    made = scene.cancel()
    assert [str(c.runnable) for c in made.commands] == ["sub"]
    scene.canceled("sub")
    assert scene.status == "CANCELED"


def from_code(scene: RunScene, replay: Any = None, **more: Any) -> Any:
    request = StartChildRun(**{"runnable": "a", "workflow": "part", "child_key": "c1", "input": {"n": 1}} | more)
    return scene.decide(
        lambda context: decide_start_child(scene.state, scene.definition, request, replace(context, replay=replay))
    )


def test_child_idempotent_across_parent_retry() -> None:
    scene = RunScene(Workflow("p", queue="q").task("a").define()).start()
    made = from_code(scene)
    fact = scene.facts[-1]
    assert (made.facts[0].idempotency_key, scene.state.children) == ("child:c1", {"c1": made.commands[0].run})
    again = from_code(scene, replay=fact)
    assert (again.facts, again.commands, again.replayed) == ((), (), fact)


@pytest.mark.parametrize("other", [{"workflow": "other"}, {"version": 2}, {"input": {"n": 2}}])
def test_child_key_reuse_conflict(other: dict[str, Any]) -> None:
    scene = RunScene(Workflow("p", queue="q").task("a").define()).start()
    from_code(scene)
    with pytest.raises(ChildKeyConflict):
        from_code(scene, replay=scene.facts[-1], **other)


def test_a_child_of_a_step_that_has_ended_is_refused() -> None:
    scene = RunScene(Workflow("p", queue="q").task("a").task("b", after="a").define()).start()
    scene.ok("a")
    with pytest.raises(Conflict):
        from_code(scene)
    scene.cancel()
    scene.canceled("b")
    with pytest.raises(RunEnded):
        from_code(scene)


def test_a_run_that_code_started_does_not_end_the_step() -> None:
    scene = RunScene(Workflow("p", queue="q").task("a").define()).start()
    from_code(scene)
    child = scene.code_children[0].run
    for news in ({"outcome": "ok", "ref": f"run:{child}"}, {"outcome": "error", "child": child}):
        made = scene.apply(Ended(runnable="a", **news))
        assert (made.facts, made.refusals[0].code) == ((), "not_dispatched")


def test_a_run_that_the_code_of_an_item_started_does_not_end_the_item() -> None:
    scene = RunScene(Workflow("p", queue="q").map("m", [1]).map("k", [1], workflow="part").define()).start()
    made = scene.apply(
        Ended(runnable="m[0]", outcome="error", child=7), Ended(runnable="k[0]", outcome="ok", ref="run:9", child=9)
    )
    assert ([r.runnable for r in made.refusals], scene.open) == (["m[0]"], ["m[0]"])


def test_the_identity_of_a_child_follows_from_parent_step_workflow_and_key() -> None:
    one = child_identity(1, "a", "part", "k")
    assert one == child_identity(1, "a", "part", "k")
    others = {
        child_identity(2, "a", "part", "k"),
        child_identity(1, "b", "part", "k"),
        child_identity(1, "a", "x", "k"),
    }
    assert one not in others
    assert len(others) == 3
