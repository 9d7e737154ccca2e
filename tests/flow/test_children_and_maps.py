"""Child runs, maps over items, re-work, and the limits of each."""

from __future__ import annotations

import pytest

from tenure.flow.engine.timeline import timeline
from tenure.model.errors import NotFound
from tests.flow.lab import FlowLab, step, task


def test_a_child_runs_output_is_the_output_of_its_step(lab: FlowLab) -> None:
    lab.define(task("bake", input={"n": "$.input.n"}), name="cake", output={"cake": "$.outputs.bake"})
    lab.define(step("sub", "child", workflow="cake", input={"n": 3}, on_ok="eat"), task("eat", input="$.outputs.sub"))
    run = lab.start()
    assert lab.waiting() == ["bake"]
    assert dict(lab.work("sponge").item.properties) == {"n": 3}
    assert dict(lab.work().item.properties) == {"cake": "sponge"}
    assert lab.status(run) == "COMPLETED"
    (child,) = lab.bench.run(lab.storage.children(lab.bench.tenant, [run.run]))
    assert (child.status, child.parent_runnable) == ("COMPLETED", "sub")
    assert lab.state(child.uid).parent.run == run.run


def test_the_timeline_tells_of_one_item_as_of_one(lab: FlowLab) -> None:
    lab.define(step("all", "map", over=[1, 2], max_parallel=1, each={"performer": "task", "action": "do"}))
    run = lab.start()
    lab.work()
    lab.work()
    told = [moment.sentence for moment in lab.run(timeline, run.run)]
    assert told == [
        "Started order version 1.", "Planned: all (item 1 of 2).", "1 item of all ended, well.", "Planned: all (item 2 of 2).",
        "1 item of all ended, well.", "all succeeded.", "The run ended: COMPLETED.",
    ]  # fmt: skip


def test_a_failed_child_fails_its_step(lab: FlowLab) -> None:
    lab.define(task("bake"), name="cake")
    lab.define(step("sub", "child", workflow="cake", on_error="mend"), task("mend"))
    lab.start()
    lab.fail()
    assert lab.waiting() == ["mend"]


def test_a_child_of_a_workflow_that_is_not_there_fails_its_step(lab: FlowLab) -> None:
    lab.define(step("sub", "child", workflow="nowhere"))
    run = lab.start()
    assert lab.ended(run)[:2] == ("FAILED", "workflow_unknown")


def test_canceling_a_run_cancels_its_children(lab: FlowLab) -> None:
    lab.define(task("bake"), name="cake")
    lab.define(step("sub", "child", workflow="cake"), name="middle")
    lab.define(step("sub", "child", workflow="middle"))
    run = lab.start()
    assert lab.waiting() == ["bake"]
    lab.cancel(run)
    assert (lab.status(run), lab.waiting()) == ("CANCELED", [])
    statuses = [row.status for row in lab.list()]
    assert statuses == ["CANCELED"] * 3


def test_a_workflow_that_starts_itself_comes_to_an_end(lab: FlowLab) -> None:
    lab.define(step("sub", "child", workflow="order"))
    run = lab.start()
    assert lab.status(run) == "FAILED"
    assert len(lab.list()) == 51


def test_a_map_does_the_same_for_each_item_and_keeps_their_order(lab: FlowLab) -> None:
    each = {"performer": "task", "action": "square", "input": {"n": "$.item", "at": "$.index"}}
    lab.define(step("all", "map", over="$.input.numbers", each=each, max_parallel=2), output="$.outputs.all")
    run = lab.start(value={"numbers": [3, 4, 5]})
    assert lab.waiting() == ["square", "square"]
    lab.drain({"square": lambda given: given["n"] ** 2})
    assert lab.ended(run) == ("COMPLETED", None, [9, 16, 25])


def test_a_map_over_nothing_is_done_at_once(lab: FlowLab) -> None:
    each = {"performer": "task", "action": "square", "input": {"n": "$.item"}}
    lab.define(step("all", "map", over="$.input.numbers", each=each), output="$.outputs.all")
    assert lab.ended(lab.start(value={"numbers": []})) == ("COMPLETED", None, [])


def test_a_map_tolerates_so_many_failures_and_has_null_for_them(lab: FlowLab) -> None:
    each = {"performer": "task", "action": "square", "input": {"n": "$.item"}}
    lab.define(step("all", "map", over="$.input.numbers", each=each, tolerate=1), output="$.outputs.all")
    run = lab.start(value={"numbers": [1, 2, 3]})
    lab.work(1)
    lab.fail()
    lab.work(9)
    assert lab.ended(run) == ("COMPLETED", None, [1, None, 9])


def test_a_map_that_cannot_succeed_any_more_cancels_the_rest(lab: FlowLab) -> None:
    each = {"performer": "task", "action": "square", "input": {"n": "$.item"}}
    lab.define(step("all", "map", over="$.input.numbers", each=each))
    run = lab.start(value={"numbers": [1, 2, 3]})
    lab.fail()
    assert lab.ended(run)[:2] == ("FAILED", "items_failed")
    assert lab.waiting() == []


def test_the_first_success_may_end_a_map(lab: FlowLab) -> None:
    each = {"performer": "task", "action": "ask", "input": {"n": "$.item"}}
    lab.define(step("all", "map", over="$.input.numbers", each=each, join="first"))
    run = lab.start(value={"numbers": [1, 2, 3]})
    lab.work("yes")
    assert lab.status(run) == "COMPLETED"
    assert lab.waiting() == []


def test_a_map_of_children_collects_their_outputs(lab: FlowLab) -> None:
    lab.define(task("bake", input={"n": "$.input.n"}), name="cake", output="$.outputs.bake")
    each = {"performer": "child", "workflow": "cake", "input": {"n": "$.item"}}
    lab.define(step("all", "map", over="$.input.numbers", each=each), output="$.outputs.all")
    run = lab.start(value={"numbers": list(range(70))})
    lab.drain({"bake": lambda given: given["n"] + 1})
    assert lab.ended(run) == ("COMPLETED", None, list(range(1, 71)))


def test_rejected_work_is_done_again_as_a_new_unit_in_the_chain(lab: FlowLab) -> None:
    lab.define(
        task("draw", on_ok="check"),
        step("check", "approval", on_ok="print", on_error=[{"to": "draw", "limit": 2}]),
        task("print", input="$.outputs.draw"), output="$.outputs.print?",
    )  # fmt: skip
    run = lab.start()
    first = lab.work("ugly")
    lab.reject(run)
    second = lab.work("fair")
    assert second.subject != first.subject
    assert {(e.parent, e.child) for e in lab.bench.lineage(second.subject) if e.relation == "step_follows"} >= {
        (first.subject, second.subject)
    }
    lab.approve(run)
    lab.work("printed")
    assert lab.ended(run) == ("COMPLETED", None, "printed")


def test_the_units_of_a_run_are_linked_to_what_they_follow_and_to_the_root(lab: FlowLab) -> None:
    lab.bench.define_queue("data")
    datum = lab.bench.subject(None, ready=False)
    lab.define(task("one", on_ok="two"), task("two"))
    lab.start(root=datum)
    one, two = lab.work(), lab.work()
    edges = {(e.parent, e.child, e.relation) for e in lab.bench.lineage(two.subject)}
    assert {(one.subject, two.subject, "step_follows"), (datum, two.subject, "run_root")} <= edges


def test_a_step_whose_input_cannot_be_mapped_fails_the_run(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two", input="$.outputs.one.there"))
    run = lab.start()
    lab.work({"here": 1})
    assert lab.ended(run)[:2] == ("FAILED", "mapping_failed")


def test_a_step_before_a_queue_that_was_retired_waits_until_it_is_given_one(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two", queue="other"))
    run = lab.start()
    lab.bench.retire_queue("other", reason="moved")
    lab.work()
    (standing,) = lab.bench.run(lab.storage.standings([run.run], everything=False))
    assert standing.state == "PENDING"
    lab.bench.requeue(standing.runnable.subject, queue_key="q")
    lab.work()
    assert lab.status(run) == "COMPLETED"


def test_a_run_about_what_is_nowhere_is_not_started(lab: FlowLab) -> None:
    lab.define(task("a"))
    with pytest.raises(NotFound, match="root"):
        lab.start(root=2**40, key="k")
    assert lab.start(key="k").replayed is False
