"""No interleaving of what may happen to a run breaks an invariant; and the explorer would see it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenure.flow.model.builder import Workflow, to, when
from tenure.flow.model.decisions import apply, cancel, ending, plan
from tests.flow.model.explorer import BrokenInvariant, Explorer

DIAMOND = (
    Workflow("diamond", queue="q")
    .task("a")
    .task("b", after="a")
    .task("c", after="a")
    .task("d", after=["b", "c"])
    .define()
)
SIGNED = (
    Workflow("signed", queue="q").task("draft", compensate_with="bin")
    .approval("sign", after="draft", on_error=to("draft", limit=1), deadline="1d").wait("paid", signal="paid", after="draft")
    .task("send", after=["sign", "paid"]).task("bin")
).define()  # fmt: skip
ROUTED = (
    Workflow("routed", queue="q", deadline="1d")
    .task("a", compensate_with="undo_a", routes=[to("b", when("$.outputs.a", "eq", 1)), "c"])
    .task("b", compensate_with="undo_b", on_ok="d", on_error="c").task("c", on_ok="d", deadline="1h")
    .task("d", recovery="irreversible").task("undo_a").task("undo_b")
).define()  # fmt: skip
MAPPED = (
    Workflow("mapped", queue="q").map("m", [1, 2, 3], max_parallel=2, tolerate=1, deadline="1h", compensate_with="undo")
    .task("side", on_error=to("side", limit=1)).task("end_of_it", after=["m", "side"]).task("undo")
).define()  # fmt: skip
FIRST = Workflow("first", queue="q").map("m", [1, 2, 3], join="first", on_error="other").child("other", "part").define()
BOUNDARIES = (
    Workflow("boundaries", queue="q").approval("one").pause("two").task("work").wait("nap", duration="1h", after="work")
    .task("last", after=["one", "two", "nap"])
).define()  # fmt: skip
LOOPS = (
    Workflow("loops", queue="q").task("a").task("slow", after="a")
    .task("check", after="a", routes=[to("a", when("$.outputs.check", "eq", 1), limit=2), "end"])
).define()  # fmt: skip


@pytest.fixture(scope="module")
def walks() -> dict[str, Explorer]:
    """Every state that runs of these workflows can come to."""
    found = [
        Explorer(DIAMOND, outcomes=("ok 0", "error", "canceled"), pauses=True),
        Explorer(SIGNED, signals=("paid", "other"), outcomes=("ok 0", "error")),
        Explorer(ROUTED, outcomes=("ok 0", "ok 1", "error")),
        Explorer(MAPPED, outcomes=("ok 0", "error")),
        Explorer(FIRST, outcomes=("ok 0", "error")),
        Explorer(BOUNDARIES, outcomes=("ok 0", "error"), pauses=True),
        Explorer(LOOPS, outcomes=("ok 0", "ok 1")),
    ]
    return {walk.definition.name: walk.run() for walk in found}


def test_no_interleaving_breaks_an_invariant(walks: dict[str, Explorer], tell: Callable[[str], None]) -> None:
    for walk in walks.values():
        tell(f"explored runs of {walk}")
    # The walks raise at the first broken one; here it is made sure that they went somewhere.
    assert sum(len(walk.states) for walk in walks.values()) > 3_000
    assert all(walk.refused > len(walk.states) for walk in walks.values())


def test_every_way_to_end_is_found(walks: dict[str, Explorer]) -> None:
    ends = {name: set(walk.ends) for name, walk in walks.items()}
    assert ends["diamond"] == {"COMPLETED", "FAILED failed", "FAILED canceled", "CANCELED canceled"}
    assert ends["signed"] == {
        "COMPLETED",
        "FAILED failed",
        "FAILED rejected",
        "FAILED deadline",
        "FAILED compensation_failed",
        "CANCELED canceled",
    }
    assert {"COMPLETED", "FAILED deadline", "FAILED compensation_failed"} <= ends["routed"]
    assert {"COMPLETED", "FAILED items_failed", "FAILED deadline", "CANCELED canceled"} <= ends["mapped"]


# The explorer sees what is broken ---------------------------------------------------------------------------------
def found(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, broken: Any, explorer: Explorer) -> BrokenInvariant:
    monkeypatch.setattr(module, name, broken)
    with pytest.raises(BrokenInvariant) as caught:
        explorer.run()
    return caught.value


def test_it_finds_a_join_that_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def eager(state: Any, unfolding: Any, name: str) -> bool:
        return state.step(name).phase in ("idle", "reached")

    assert "without what it joins" in found(monkeypatch, plan, "is_ready", eager, Explorer(DIAMOND)).what


def test_it_finds_a_failure_that_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    error = found(monkeypatch, ending, "stop_all", lambda unfolding, reason: None, Explorer(DIAMOND))
    assert "goes on although the run stops" in error.what
    assert len(error.path) == 2


def test_it_finds_a_cancel_that_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    error = found(monkeypatch, cancel, "stop_all", lambda unfolding, reason: None, Explorer(DIAMOND))
    assert "goes on although the run stops" in error.what
    assert error.path == ["cancel"]


def test_it_finds_too_many_items_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    error = found(
        monkeypatch, plan, "may_plan", lambda definition, step: step.items.total - step.items.planned, Explorer(MAPPED)
    )
    assert "more items under way" in error.what or "contradicts itself" in error.what


def test_it_finds_what_should_have_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    error = found(monkeypatch, apply, "go_on", lambda unfolding: None, Explorer(DIAMOND, outcomes=("ok 0",)))
    assert "should have followed at once" in error.what


def test_it_finds_a_run_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    error = found(
        monkeypatch, plan, "wind_down", lambda unfolding: False, Explorer(DIAMOND, outcomes=("ok 0", "error"))
    )
    assert error.what == "nothing leads from here to an end"


def test_it_finds_news_that_is_applied_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    error = found(monkeypatch, apply, "_known", lambda state, one, items: False, Explorer(DIAMOND))
    assert "contradicts itself" in error.what or "AssertionError" in error.what
