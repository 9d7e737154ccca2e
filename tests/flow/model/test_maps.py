"""Maps: the same for each item of a list."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tenure.flow.model.builder import Workflow
from tenure.flow.model.commands import CancelWork
from tests.flow.model.scene import RunScene


def mapped(items: Any, **more: Any) -> RunScene:
    flow = Workflow("m", queue="q").map("m", "$.input", **more).task("sum", after="m", input="$.outputs.m")
    return RunScene(flow.define(), items).start()


def test_each_item_is_a_runnable_and_the_results_come_in_order() -> None:
    scene = mapped(["a", "b", "c"], input={"x": "$.item", "n": "$.index"})
    assert scene.payload("m[1]") == {"x": "b", "n": 1}
    for key in ("m[2]", "m[0]", "m[1]"):
        scene.ok(key, key)
    assert scene.payload("sum") == ["m[0]", "m[1]", "m[2]"]


def test_no_more_than_max_parallel_are_under_way() -> None:
    scene = mapped(list(range(5)), max_parallel=2)
    seen = []
    while scene.open and scene.open != ["sum"]:
        assert len(scene.open) <= 2
        seen.append(scene.open[-1])
        scene.ok(scene.open[-1], 0)
    assert (len(seen), scene.payload("sum")) == (5, [0] * 5)


def test_a_map_over_nothing_is_done_at_once() -> None:
    scene = mapped([])
    assert (scene.open, scene.payload("sum")) == (["sum"], [])


@pytest.mark.parametrize("items", [None, {"a": 1}, "abc", 3])
def test_a_map_over_no_list_fails_the_run(items: Any) -> None:
    scene = mapped(items)
    assert (scene.status, scene.state.end.code, scene.state.end.step) == ("FAILED", "map_over_no_list", "m")


def test_the_first_failure_too_many_stops_the_rest() -> None:
    scene = mapped(list(range(4)), max_parallel=3, tolerate=1)
    assert scene.error("m[0]").commands[-1].runnable.index == 3
    made = scene.error("m[1]")
    assert made.commands == (CancelWork(scene.state.active[0], "items_failed"),)
    assert scene.canceled("m[2]").facts != ()
    scene.canceled("m[3]")
    end = scene.state.end
    assert (scene.status, end.code, end.message) == ("FAILED", "items_failed", "4 of 4 items failed")


def test_failures_that_are_tolerated_leave_null() -> None:
    scene = mapped([1, 2, 3, 4], tolerate_share=0.5)
    scene.error("m[1]")
    for key in ("m[0]", "m[2]", "m[3]"):
        scene.ok(key, key)
    assert scene.payload("sum") == ["m[0]", None, "m[2]", "m[3]"]


def test_the_first_success_may_be_enough() -> None:
    scene = mapped([1, 2, 3], join="first")
    scene.error("m[0]")
    made = scene.ok("m[1]", "won")
    assert isinstance(made.commands[0], CancelWork)
    assert scene.open == ["m[2]"]
    scene.canceled("m[2]")
    assert scene.payload("sum") == [None, "won", None]


def test_join_first_with_no_success_has_failed() -> None:
    scene = mapped([1, 2], join="first")
    scene.error("m[0]")
    scene.error("m[1]")
    assert scene.state.end.code == "items_failed"


def test_an_item_that_ends_twice_counts_once() -> None:
    scene = mapped([1, 2])
    news = scene.result("m[0]", 1)
    scene.apply(news, news)
    assert (scene.apply(news).facts, scene.state.step("m").items.ok) == ((), 1)
    assert scene.error("m[0]").refusals[0].code == "result_conflict"
    assert scene.apply(scene.result("m[7]")).refusals[0].code == "not_planned"
    assert scene.apply(scene.result("m")).refusals[0].code == "not_planned"


def test_a_run_that_is_canceled_waits_for_its_items() -> None:
    scene = mapped([1, 2, 3], max_parallel=2)
    scene.ok("m[0]")
    scene.cancel()
    assert scene.open == ["m[1]", "m[2]"]
    scene.canceled("m[1]")
    scene.ok("m[2]")
    assert (scene.status, scene.state.step("m").phase) == ("CANCELED", "canceled")


def test_a_map_past_its_deadline_has_failed_once_its_items_are_stopped() -> None:
    scene = mapped([1, 2, 3], max_parallel=2, deadline="1m")
    scene.wait(60)
    scene.timer("deadline:m")
    scene.canceled("m[0]")
    scene.canceled("m[1]")
    assert (scene.status, scene.state.end.code) == ("FAILED", "deadline")


def test_ten_thousand_items_make_no_ten_thousand_entries(tell: Callable[[str], None]) -> None:
    scene = mapped(list(range(10_000)), max_parallel=10_000)
    scene.apply(*(scene.result(f"m[{index}]", 0) for index in range(0, 10_000, 2)))
    size = len(json.dumps(scene.state.checkpoint()))
    tell(f"checkpoint of a map of 10,000 items: {size:,} bytes; {len(scene.facts)} facts")
    assert size < 10_000
    items = scene.state.step("m").items
    assert (items.open, items.ok.bit_count()) == (5000, 5000)


def test_a_map_over_children_starts_runs_and_tells_which() -> None:
    scene = mapped(["x", "y"], workflow="part")
    (told,) = scene.told("child_started")
    assert [(child["index"], child["child_key"]) for child in told["children"]] == [(0, "m[0]"), (1, "m[1]")]
    assert [child["run"] for child in told["children"]] == [scene.work["m[0]"].run, scene.work["m[1]"].run]
    scene.ok("m[0]", 1)
    scene.ok("m[1]", 2)
    assert scene.payload("sum") == [1, 2]


def test_a_map_over_more_than_can_be_is_refused_with_a_number() -> None:
    scene = mapped([0] * 100_001)
    assert (scene.state.end.code, "100,001" in scene.state.end.message) == ("map_too_long", True)


def test_rework_of_a_map_begins_it_anew() -> None:
    flow = (
        Workflow("m", queue="q").map("m", "$.input").task("check", after="m", input="$.outputs.m", on_error={"to": "m", "limit": 1})
    )  # fmt: skip
    scene = RunScene(flow.define(), [1, 2]).start()
    for key in ("m[0]", "m[1]"):
        scene.ok(key, 1)
    scene.error("check")
    assert (scene.open, scene.work["m[1]#2"].parents) == (["m[0]#2", "m[1]#2"], ("m[1]",))
    for key in ("m[0]#2", "m[1]#2"):
        scene.ok(key, 2)
    assert scene.payload("check#2") == [2, 2]
