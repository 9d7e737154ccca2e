"""The fold of a run's facts: it never raises, keeps what does not fit as an anomaly, and can begin at any cut."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.flow.model.builder import Workflow, to, when
from tenure.flow.model.facts import TYPES
from tenure.flow.model.fold import evolve, fold, nothing
from tenure.flow.model.state import FORMAT, MAX_ANOMALIES, MAX_SIGNALS, RunState, from_checkpoint
from tenure.model.fact import Fact, check_data
from tests.flow.model.scene import RUN, RunScene, fact

HASH = "ab" * 32
STARTED = {"workflow": "w", "version": 1, "fingerprint": HASH, "input_hash": HASH}


def story(*told: tuple[str, Any]) -> list[Fact]:
    """A run that was started, and these facts."""
    return [fact(n + 1, f"run.{kind}", data) for n, (kind, data) in enumerate([("started", STARTED), *told])]


def planned(*names: str, **more: Any) -> tuple[str, Any]:
    return "runnables_planned", {"runnables": [{"step": name, "kind": "task"} | more for name in names]}


def applied(step: str, **more: Any) -> tuple[str, Any]:
    return "runnable_applied", {"step": step, "outcome": "ok", "ref": "record:1", "hash": HASH} | more


def reasons(*told: tuple[str, Any]) -> list[str]:
    return [anomaly.reason for anomaly in fold(story(*told), RUN).anomalies]


PAUSED = ("step_paused", {"step": "p", "kind": "approval"})
ITEMS = planned("m", kind="map", total=3, stop=2)
END = ("terminal", {"status": "COMPLETED"})
LINE = ("step_logged", {"step": "a", "level": "info", "message": "m"})
CHILD = ("child_started", {"step": "a", "workflow": "w", "children": [{"run": 7, "child_key": "k"}]})
UNDO = ("compensation_planned", {"cause": "c", "steps": [{"step": "a", "undo": "b"}]})

#: What does not fit: the facts, and why the last of them does not.
ANOMALIES: list[tuple[str, list[tuple[str, Any]], str]] = [
    ("conflicting intent", [planned("a"), planned("a", hash="cd" * 32)], "conflicting_plan"),
    ("intent of another kind", [planned("a"), planned("a", kind="human")], "conflicting_plan"),
    ("intent of a later time round", [planned("a", iteration=2)], "wrong_iteration"),
    ("apply before plan", [applied("a")], "apply_before_plan"),
    ("apply of a later time round", [planned("a"), applied("a", iteration=2)], "apply_before_plan"),
    ("differing result", [planned("a"), applied("a"), applied("a", hash="cd" * 32)], "differing_result"),
    ("differing outcome", [planned("a"), applied("a"), applied("a", outcome="error")], "differing_result"),
    ("apply without outcome", [planned("a"), ("runnable_applied", {"step": "a"})], "malformed: outcome"),
    ("item of no map", [planned("a"), ("runnable_applied", {"step": "a", "items": [{"index": 0, "outcome": "ok"}]})], "not_a_map"),
    ("item that was not planned", [ITEMS, ("runnable_applied", {"step": "m", "items": [{"index": 2, "outcome": "ok"}]})],
     "apply_before_plan"),
    ("item with two ends", [ITEMS, ("runnable_applied", {"step": "m", "items": [{"index": 0, "outcome": "ok"}]}),
                            ("runnable_applied", {"step": "m", "items": [{"index": 0, "outcome": "error"}]})], "differing_result"),
    ("window that leaves a gap", [ITEMS, planned("m", kind="map", total=3, start=3, stop=3)], "conflicting_plan"),
    ("window of another map", [ITEMS, planned("m", kind="map", total=4, start=2, stop=4)], "conflicting_plan"),
    ("second window first", [planned("m", kind="map", total=3, start=1, stop=2)], "items_out_of_order"),
    ("more items than there are", [planned("m", kind="map", total=3, stop=4)], "items_out_of_order"),
    ("second pause", [PAUSED, ("step_paused", {"step": "q", "kind": "pause"})], "second_boundary"),
    ("pause of what is under way", [planned("p"), PAUSED], "conflicting_plan"),
    ("pause of another time round", [("step_paused", {"step": "p", "kind": "pause", "iteration": 2})], "wrong_iteration"),
    ("stale resolution", [("step_resolved", {"step": "p", "decision": "approved"})], "stale_resolution"),
    ("resolution of another step", [PAUSED, ("step_resolved", {"step": "q", "decision": "approved"})], "stale_resolution"),
    ("second resolution", [PAUSED, ("step_resolved", {"step": "p", "decision": "approved"}),
                           ("step_resolved", {"step": "p", "decision": "rejected"})], "stale_resolution"),
    ("apply to a boundary", [PAUSED, applied("p")], "apply_to_boundary"),
    ("conflicting signal", [("signal_received", {"name": "s", "signal_key": "k"}),
                            ("signal_received", {"name": "s", "signal_key": "k", "hash": HASH})], "conflicting_signal"),
    ("signal taken twice", [planned("a"), ("signal_taken", {"runnable": "a", "signal": 2})], "no_such_signal"),
    ("signal taken by nobody", [("signal_taken", {"runnable": "a", "signal": 2})], "not_under_way"),
    ("wait of nobody", [("signal_awaited", {"runnable": "not a key", "name": "s"})], "not_under_way"),
    ("kept by nobody", [("step_kept", {"runnable": "a", "name": "s"})], "not_under_way"),
    ("child before plan", [("child_started", {"step": "a", "workflow": "w", "children": [{"run": 7, "child_key": "k"}]})],
     "child_before_plan"),
    ("another child", [planned("a"), ("child_started", {"step": "a", "workflow": "w", "children": [{"run": 7, "child_key": "k"}]}),
                       ("child_started", {"step": "a", "workflow": "w", "children": [{"run": 9, "child_key": "k"}]})],
     "conflicting_child"),
    ("another child of code", [
        planned("a"),
        ("child_started", {"step": "a", "workflow": "w", "origin": "a", "children": [{"run": 7, "child_key": "k"}]}),
        ("child_started", {"step": "a", "workflow": "w", "origin": "a", "children": [{"run": 9, "child_key": "k"}]}),
    ], "conflicting_child"),
    ("resume of what goes on", [("resumed", {})], "not_paused"),
    ("deadline of nobody", [("deadline_passed", {"step": "a"})], "not_under_way"),
    ("stuck before plan", [("step_stuck", {"step": "a", "error": {"code": "c"}})], "not_under_way"),
    ("compensation without a stop", [("compensation_planned", {"cause": "c", "steps": [{"step": "a", "undo": "b"}]})],
     "compensation_without_stop"),
    ("migration from another version", [("migrated", {"before": 2, "version": 3, "fingerprint": HASH})], "version_drift"),
    ("log of what was planned", [planned("a"), LINE], "conflicting_plan"),
    ("another start", [("started", STARTED | {"version": 2})], "second_start"),
    ("apply after the end", [planned("a"), END, applied("a")], "after_terminal"),
    ("pause after the end", [END, PAUSED], "after_terminal"),
    ("resolution after the end", [PAUSED, END, ("step_resolved", {"step": "p", "decision": "approved"})], "after_terminal"),
    ("signal after the end", [END, ("signal_received", {"name": "s"})], "after_terminal"),
    ("second end", [END, ("terminal", {"status": "FAILED"})], "after_terminal"),
    ("another type", [("danced", {})], "unknown_type"),
    ("missing required field", [("runnable_applied", {"outcome": "ok"})], "malformed: step"),
    ("text for a number", [("runnable_applied", {"step": "a", "iteration": "1"})], "malformed: iteration"),
    ("a status that there is not", [("terminal", {"status": "DONE"})], "malformed: status"),
    ("adopted over what runs", [planned("a"), ("results_adopted", {"results": [{"step": "a"}]})], "conflicting_plan"),
]  # fmt: skip


@pytest.mark.parametrize(("told", "reason"), [case[1:] for case in ANOMALIES], ids=[case[0] for case in ANOMALIES])
def test_what_does_not_fit_is_an_anomaly_and_changes_nothing_else(told: list[tuple[str, Any]], reason: str) -> None:
    before = fold(story(*told[:-1]), RUN)
    after = fold(story(*told), RUN)
    assert before.anomaly_count == 0
    (anomaly,) = after.anomalies
    assert (anomaly.seq, anomaly.type, anomaly.reason) == (len(told) + 1, f"run.{told[-1][0]}", reason)
    bare = {"anomalies": (), "anomaly_count": 0, "seq": 0}
    assert after.model_copy(update=bare) == before.model_copy(update=bare)


#: What says again what is known.
AGAIN: list[tuple[str, list[tuple[str, Any]]]] = [
    ("duplicate intent", [planned("a"), planned("a")]),
    ("the same window", [ITEMS, ITEMS]),
    ("duplicate completion", [planned("a"), applied("a"), applied("a")]),
    ("the same items", [ITEMS, *[("runnable_applied", {"step": "m", "items": [{"index": 0, "outcome": "ok"}]})] * 2]),
    ("the same pause", [PAUSED, PAUSED]),
    ("the same resolution", [PAUSED, *[("step_resolved", {"step": "p", "decision": "approved"})] * 2]),
    ("the same signal", [("signal_received", {"name": "s", "signal_key": "k"})] * 2),
    ("the same wait", [planned("a"), *[("signal_awaited", {"runnable": "a", "name": "s"})] * 2]),
    ("the same child", [planned("a"), CHILD, CHILD]),
    ("the same pause of the whole", [("paused", {"reason": "r"})] * 2),
    ("the same cancel", [("cancel_requested", {})] * 2),
    ("the same failure", [("failure_noted", {"code": "c"})] * 2),
    ("the same compensation", [("cancel_requested", {}), UNDO, UNDO]),
    ("the same line", [LINE, LINE]),
    ("the same start", [("started", STARTED)]),
]  # fmt: skip


@pytest.mark.parametrize("told", [case[1] for case in AGAIN], ids=[case[0] for case in AGAIN])
def test_what_is_known_already_changes_nothing(told: list[tuple[str, Any]]) -> None:
    before, after = fold(story(*told[:-1]), RUN), fold(story(*told), RUN)
    assert after == before.model_copy(update={"seq": before.seq + 1})


def test_what_a_later_version_adds_is_read_over() -> None:
    assert reasons(("paused", {"reason": "r", "mood": "grim"})) == []


def test_mixed_threads() -> None:
    state = fold(story(planned("a")), RUN)
    after = evolve(state, fact(3, "run.runnable_applied", applied("a")[1], thread=RUN + 2))
    assert (after.anomalies[0].reason, after.seq, after.step("a").phase) == ("wrong_run", 2, "active")


def test_seq_gap() -> None:
    state = evolve(fold(story(), RUN), fact(5, "run.paused", {}))
    assert ([a.reason for a in state.anomalies], state.seq, state.paused) == (["seq_gap"], 5, True)


def test_a_fact_that_was_folded_already_is_not_folded_again() -> None:
    state = fold(story(planned("a")), RUN)
    assert evolve(state, fact(2, "run.paused", {})).anomalies[0].reason == "seq_repeated"


def test_wakeup_before_intent() -> None:
    state = evolve(nothing(RUN), fact(1, "run.paused", {}))
    assert (state.anomalies[0].reason, state.started) == ("before_start", False)


def test_anomalies_are_counted_and_only_the_first_are_kept() -> None:
    state = fold(story(*[applied("a")] * 200), RUN)
    assert (state.anomaly_count, len(state.anomalies)) == (200, MAX_ANOMALIES)


def test_signals_are_not_kept_without_end() -> None:
    state = fold(story(*[("signal_received", {"name": "s"})] * (MAX_SIGNALS + 1)), RUN)
    assert (len(state.signals), state.anomalies[0].reason) == (MAX_SIGNALS, "signals_full")


def test_the_end_clears_what_was_open() -> None:
    state = fold(story(planned("a"), PAUSED, ("paused", {}), ("signal_received", {"name": "s"}), END), RUN)
    assert (state.manual, state.paused, state.signals, state.status) == (None, False, (), "COMPLETED")


# Checkpoints ----------------------------------------------------------------------------------------------------------
def rich() -> RunScene:
    """A run with something of everything in its thread."""
    flow = (
        Workflow("rich", queue="q", deadline="1d", output="$.outputs.m")
        .task("a", compensate_with="undo", deadline="1h").approval("sign", after="a", on_error=to("a", limit=2))
        .map("m", "$.input", after="sign", max_parallel=2, tolerate=1).wait("s", signal="go", after="sign")
        .log("say", "$.outputs.s", after="s").child("kid", "part", after=["m", "say"])
        .task("b", after="kid", routes=[to("c", when("$.outputs.b", "eq", 1)), "end"]).task("c").task("undo")
    )  # fmt: skip
    scene = RunScene(flow.define(), ["x", "y", "z"]).start(key="k")
    scene.ok("a", 1)
    scene.resolve("rejected", comment="no")
    scene.pause()
    scene.ok("a#2", 2)
    scene.resume()
    scene.signal("other")
    scene.resolve("approved", comment="yes")
    scene.apply(scene.result("m[1]", 1), scene.result("m[0]", 0))
    scene.error("m[2]")
    scene.signal("go", "now")
    scene.ok("kid", 5)
    scene.ok("b", 1)
    scene.error("c", "broken")
    scene.ok("undo#2")
    scene.ok("undo")
    assert scene.status == "FAILED"
    return scene


def through_json(state: RunState) -> RunState:
    read = from_checkpoint(json.loads(json.dumps(state.checkpoint())))
    assert read is not None
    return read


def test_stale_checkpoint_and_tail_at_any_cut() -> None:
    scene = rich()
    whole = fold(scene.facts, RUN)
    for cut in range(len(scene.facts) + 1):
        checkpoint = through_json(fold(scene.facts[:cut], RUN))
        assert fold(scene.facts[cut:], RUN, checkpoint) == whole


def test_checkpoint_loss() -> None:
    scene = rich()
    assert fold(scene.facts, RUN, from_checkpoint(None)) == scene.state


def old_format(checkpoint: Any) -> Any:
    return checkpoint | {"format": FORMAT + 1}


def without_format(checkpoint: Any) -> Any:
    return {key: value for key, value in checkpoint.items() if key != "format"}


@pytest.mark.parametrize(
    "spoiled",
    [old_format, without_format, lambda c: c | {"seq": "x"}, lambda c: c | {"more": 1}, lambda c: [], lambda c: None, str,
     lambda c: c | {"steps": {"a": {"phase": "dancing"}}}, lambda c: c | {"steps": {"m": {"items": {"total": 1, "ok": "zz"}}}}],
)  # fmt: skip
def test_old_checkpoint_format(spoiled: Callable[[Any], Any]) -> None:
    assert from_checkpoint(spoiled(rich().state.checkpoint())) is None


def test_the_facts_of_a_run_may_all_be_carried_by_facts() -> None:
    for one in rich().facts:
        check_data(one.data)


def test_the_facts_that_a_run_can_have_were_told_by_some_run() -> None:
    told = {one.type for one in rich().facts}
    elsewhere = {"run.results_adopted", "run.migrated", "run.step_kept", "run.signal_taken", "run.signal_awaited",
                 "run.cancel_requested", "run.deadline_passed", "run.step_stuck", "run.route_followed"}  # fmt: skip
    assert told | elsewhere == set(TYPES)


# Whatever is appended ----------------------------------------------------------------------------------------------
FIELDS = sorted({name for model in TYPES.values() for name in model.model_fields})
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(max_size=5)
    | st.sampled_from(["a", "m", HASH, "ok"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5) | st.sampled_from(FIELDS), inner, max_size=5)
    ),
    max_leaves=10,
)
named = st.dictionaries(st.sampled_from(FIELDS), anything, max_size=8)


RICH = rich().facts


@st.composite
def nearly_right(draw: st.DrawFn) -> Any:
    """The data of a fact that some run has, with one value replaced."""
    one = draw(st.sampled_from(RICH))
    data = json.loads(json.dumps(dict(one.data or {})))
    if data:
        data[draw(st.sampled_from(sorted(data)))] = draw(anything)
    return one.type, data


facts = st.lists(
    st.tuples(st.sampled_from(sorted(TYPES)) | st.text(max_size=5), named | anything)
    | nearly_right()
    | st.sampled_from(RICH).map(lambda one: (one.type, one.data)),
    max_size=20,
)


@settings(max_examples=150)
@given(facts, st.booleans())
def test_malformed_facts_never_raise_and_every_cut_comes_to_the_same(told: list[tuple[str, Any]], begun: bool) -> None:
    thread = [fact(n + 1, kind, data) for n, (kind, data) in enumerate([("run.started", STARTED)] * begun + told)]
    whole = fold(thread, RUN)
    assert whole.seq == len(thread)
    assert len(whole.anomalies) <= whole.anomaly_count
    cut = len(thread) // 2
    assert fold(thread[cut:], RUN, through_json(fold(thread[:cut], RUN))) == whole


@settings(max_examples=60)
@given(st.permutations(RICH[1:]))
def test_facts_in_any_order_never_raise(order: list[Fact]) -> None:
    thread = [fact(n + 1, one.type, one.data) for n, one in enumerate([RICH[0], *order])]
    state = through_json(fold(thread, RUN))
    assert state.seq == len(thread)
    assert state.end is not None
