"""Random definitions, and whatever may happen to their runs in any order (design 02; S3)."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from tenure.flow.model.decisions.recover import decide_recover
from tenure.flow.model.explain import explain
from tenure.flow.model.graph import graph
from tenure.flow.model.names import Runnable
from tenure.flow.model.requests import Ended
from tenure.flow.model.shape import shape_of
from tenure.model.errors import TenureError
from tests.flow.model.definitions import definitions
from tests.flow.model.scene import RunScene

#: More of them find rarer things: TENURE_EXAMPLES=10000.
EXAMPLES = int(os.environ.get("TENURE_EXAMPLES", "150"))
ACTS = ["end"] * 8 + ["resolve", "signal", "time", "pause", "resume", "again", "stranger", "cancel"]


def act(scene: RunScene, data: st.DataObject) -> None:
    """One thing that happens."""
    kind = data.draw(st.sampled_from(ACTS))
    try:
        if kind == "end" and scene.open:
            keys = data.draw(st.lists(st.sampled_from(scene.open), min_size=1, max_size=3, unique=True))
            scene.apply(*(news(scene, key, data) for key in keys))
        elif kind == "resolve":
            scene.resolve(data.draw(st.sampled_from(["approved", "rejected", "resumed"])))
        elif kind == "signal":
            scene.signal(data.draw(st.sampled_from(["x", "y", "z"])), data.draw(st.integers(0, 1)))
        elif kind == "time":
            pass_time(scene, data.draw(st.sampled_from([30, 60])))
        elif kind == "pause":
            scene.pause()
        elif kind == "resume":
            scene.resume()
        elif kind == "again" and scene.work:
            scene.apply(news(scene, data.draw(st.sampled_from(list(scene.work))), data))
        elif kind == "stranger":
            scene.apply(
                Ended(runnable=data.draw(st.sampled_from(["zz", "s0#9", "s0[7]", "u9"])), outcome="ok", ref="record:0")
            )
        elif kind == "cancel" and data.draw(st.integers(0, 3)) == 0:
            scene.cancel()
    except TenureError as refused:
        event(f"refused: {refused.code}")


def news(scene: RunScene, key: str, data: st.DataObject) -> Ended:
    outcome = data.draw(st.sampled_from(["ok", "ok", "ok", "error", "canceled"]))
    if outcome == "ok":
        return scene.result(key, data.draw(st.integers(0, 1)))
    if outcome == "error":
        return Ended(runnable=key, outcome="error", error_code="broken", dead_letter=data.draw(st.booleans()))
    return Ended(runnable=key, outcome="canceled")


def pass_time(scene: RunScene, seconds: int) -> None:
    scene.wait(seconds)
    for key, at in sorted(scene.timers.items()):
        if at <= scene.now:
            scene.timer(key)


def answer_all(scene: RunScene) -> None:
    """Everything that the run waits for, until it ends."""
    for _ in range(500):
        if scene.state.end is not None:
            return
        if scene.state.paused:
            scene.resume()
        elif scene.state.manual is not None:
            scene.resolve("resumed" if scene.state.manual.kind == "pause" else "approved")
        elif scene.open:
            scene.ok(scene.open[0], 0)
        elif waits := [s.signal for s in scene.state.steps.values() if s.active and s.signal]:
            scene.signal(waits[0], 0)
        else:
            assert scene.timers, "it waits for nothing and does not end"
            pass_time(scene, 30)
    raise AssertionError("it gets every answer and does not end")


def check(scene: RunScene) -> None:
    """What must be true of every run at any time."""
    types = [one.type for one in scene.facts]
    assert "run.terminal" not in types[:-1], "something was appended behind the end"
    ends = Counter(
        (one.data["step"], one.data.get("iteration", 1))
        for one in scene.facts
        if one.type in ("run.step_logged", "run.step_resolved")
        or (one.type == "run.runnable_applied" and "outcome" in one.data)
    )
    assert not ends or max(ends.values()) == 1, "a step was applied twice"
    items = Counter(
        (one.data["step"], one.data.get("iteration", 1), item["index"])
        for one in scene.told_facts("runnable_applied")
        for item in one.data.get("items", ())
    )
    assert not items or max(items.values()) == 1, "an item was applied twice"
    assert len(scene.work) == len({str(c.runnable) for c in scene.work.values()})
    for parallel in (c for c in scene.definition.steps if c.performer == "map"):
        for key in [r for r in scene.state.active if r.step == parallel.name]:
            step = scene.state.under_way(key)
            assert step is not None
            assert step.items is not None
            assert step.items.open <= parallel.max_parallel
    joins_wait(scene)
    explain(scene.state, scene.definition, scene.now)
    graph(scene.definition, scene.state)


def joins_wait(scene: RunScene) -> None:
    """No step was planned before all that it joins had succeeded, this time round; nor without a route where it needs one."""
    shape = shape_of(scene.definition)
    good: set[str] = set()
    reached: set[str] = set()
    for one in scene.facts:
        data: Any = one.data
        begun = (
            [p for p in data.get("runnables", ()) if not p.get("start")] if one.type == "run.runnables_planned" else []
        )
        if one.type in ("run.step_paused", "run.step_logged"):
            begun = [data]
        for step in begun:
            name = step["step"]
            assert step.get("compensates") or name not in shape.compensates
            if not step.get("compensates"):
                assert {e.source for e in shape.incoming[name] if e.kind == "after"} <= good, f"{name} did not wait"
                assert name in reached or not shape.entered(name), f"no route led to {name}"
        if "step" in data and one.type != "run.step_paused":
            ended_well = (
                data.get("outcome") == "ok"
                or data.get("decision") in ("approved", "resumed")
                or one.type == "run.step_logged"
            )
            if ended_well:
                good.add(data["step"])
            good -= set(data.get("reset", ()))
            reached -= set(data.get("reset", ()))
            reached |= set(data.get("to", ()))


def at_the_end(scene: RunScene) -> None:
    """What must be true of a run that has ended."""
    state, end = scene.state, scene.state.end
    assert end is not None
    assert scene.ended is not None
    assert (scene.ended.status, state.active, state.manual, scene.open) == (end.status, [], None, [])
    undone = [(p["step"], p.get("iteration", 1)) for one in scene.told("compensation_planned") for p in one["steps"]]
    done = [
        (d.step, d.iteration)
        for d in state.done
        if d.ok and getattr(scene.definition.step(d.step), "compensate_with", None)
    ]
    if state.stop is not None:
        assert undone == done[::-1]
    else:
        assert (end.status, undone) == ("COMPLETED", [])
    if state.compensation is not None and not state.compensation.failed and end.code != "compensation_failed":
        assert state.compensation.done == len(undone)
    again = scene.decide(lambda context: decide_recover(scene.state, scene.definition, context))
    assert (again.facts, again.commands) == ((), ())


@settings(
    max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(definitions(), st.data())
def test_whatever_happens_in_whatever_order(definition: Any, data: st.DataObject) -> None:
    scene = RunScene(definition, {"n": 1}).start()
    for _ in range(data.draw(st.integers(0, 14))):
        check(scene)
        if scene.state.end is not None:
            break
        act(scene, data)
    answer_all(scene)
    check(scene)
    at_the_end(scene)
    event(f"ended {scene.status} {scene.state.end.code or ''}")
    for performer in {step.performer for step in definition.steps}:
        event(f"has {performer}")


@settings(
    max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(definitions(), st.data())
def test_nothing_follows_by_itself_behind_a_decision(definition: Any, data: st.DataObject) -> None:
    # What follows from a state follows in the decision that leads to it: asking again finds nothing, at any time.
    scene = RunScene(definition, {"n": 1}).start()
    for _ in range(data.draw(st.integers(0, 8))):
        if scene.state.end is not None:
            break
        known, scene.work = scene.work, {}
        made = scene.decide(lambda context: decide_recover(scene.state, scene.definition, context))
        scene.work = known
        assert made.facts == ()
        act(scene, data)


@settings(
    max_examples=EXAMPLES // 4, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(definitions(), st.data())
def test_recovery_asks_for_exactly_what_is_under_way(definition: Any, data: st.DataObject) -> None:
    scene = RunScene(definition, {"n": 1}).start()
    for _ in range(data.draw(st.integers(0, 8))):
        if scene.state.end is not None:
            return
        act(scene, data)
    known, waiting = scene.work, set(scene.open)
    stopping = {str(r) for r in scene.state.active if must_stop(scene, r)}
    scene.work = {}
    scene.decide(lambda context: decide_recover(scene.state, scene.definition, context))
    again, scene.work = scene.work, known
    assert set(again) == {key for key in waiting if whole(key) not in stopping}
    assert {key: payload(command) for key, command in again.items()} == {key: payload(known[key]) for key in again}


def must_stop(scene: RunScene, runnable: Runnable) -> bool:
    step = scene.state.under_way(runnable)
    assert step is not None
    past = scene.state.step(runnable.step).iteration != runnable.iteration
    return past or step.late or (scene.state.stop is not None and not step.compensates)


def whole(key: str) -> str:
    from tenure.flow.model.names import parse_runnable

    runnable = parse_runnable(key)
    assert runnable is not None
    return str(Runnable(runnable.step, runnable.iteration))


def payload(command: Any) -> Any:
    return getattr(command, "payload", None) or command.input
