"""Replay, retry, migration, recovery."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tenure.flow.model.builder import Workflow
from tenure.flow.model.decisions.again import decide_replay, decide_retry
from tenure.flow.model.decisions.cancel import decide_cancel
from tenure.flow.model.decisions.migrate import decide_migrate
from tenure.flow.model.decisions.pause import decide_pause, decide_resume
from tenure.flow.model.decisions.recover import decide_recover
from tenure.flow.model.decisions.resolve import decide_resolve
from tenure.flow.model.decisions.signal import decide_await, decide_signal
from tenure.flow.model.decisions.unfolding import Context
from tenure.flow.model.errors import IncompatibleVersion, NotPaused, RunActive, UnsafeReplay
from tenure.flow.model.fold import nothing
from tenure.flow.model.requests import (
    AwaitSignal,
    CancelRun,
    MigrateRun,
    PauseRun,
    ReplayRun,
    ResolveStep,
    ResumeRun,
    RetryRun,
    SignalRun,
)
from tenure.model.errors import IdempotencyConflict, InvalidRequest
from tests.flow.model.scene import RunScene, fact

NEW = 8192


def follow_up(scene: RunScene, verb: Any, request: Any, **more: Any) -> RunScene:
    """The run that comes of a replay or a retry, in a scene of its own that shares the data."""
    new = replace(
        scene,
        run=NEW,
        state=nothing(NEW),
        facts=[],
        work={},
        timers={},
        ended=None,
        loads=[],
        values=dict(scene.values),
    )
    new.decide(lambda context: verb(NEW, scene.state, more.get("definition", scene.definition), request, context))
    return new


def ended(flow: Workflow, *oks: str, error: str | None = None) -> RunScene:
    scene = RunScene(flow.define(), {"n": 1}).start()
    for key in oks:
        scene.ok(key, f"result of {key}")
    if error:
        scene.error(error)
        for key in scene.open:
            scene.canceled(key)
    return scene


def three(**b: Any) -> Workflow:
    return (
        Workflow("three", queue="q")
        .task("a")
        .task("b", after="a", **b)
        .task("c", after=["a", "b"], input="$.outputs.a")
    )


def test_a_replay_is_a_new_run_from_the_same_input() -> None:
    scene = ended(three(), "a", "b", "c")
    new = follow_up(scene, decide_replay, ReplayRun())
    assert (new.open, new.payload("a"), new.state.replay_of) == (["a"], {"n": 1}, scene.run)
    assert (new.state.root, new.state.input_hash) == (scene.run, scene.state.input_hash)


def test_unsafe_replay() -> None:
    scene = ended(three(recovery="irreversible"), "a", "b", "c")
    for request in (ReplayRun(), ReplayRun(force=True)):
        with pytest.raises(UnsafeReplay) as caught:
            follow_up(scene, decide_replay, request)
        assert caught.value.evidence["steps"] == ["b"]
    new = follow_up(scene, decide_replay, ReplayRun(force=True, reason="the first went to the test system"))
    assert new.told("started")[0]["reason"] == "the first went to the test system"


def test_an_irreversible_step_that_may_have_run_counts_and_one_that_never_began_does_not() -> None:
    scene = ended(three(recovery="irreversible"), "a", error="b")
    with pytest.raises(UnsafeReplay):
        follow_up(scene, decide_replay, ReplayRun())
    scene = RunScene(three(recovery="irreversible").define()).start()
    scene.ok("a")
    scene.cancel()
    scene.apply(
        scene.result("b").model_copy(update={"outcome": "canceled", "ref": None, "hash": None, "untouched": True})
    )
    assert follow_up(scene, decide_replay, ReplayRun()).open == ["a"]


def test_a_run_that_goes_on_is_neither_replayed_nor_retried() -> None:
    scene = RunScene(three().define()).start()
    for verb, request in ((decide_replay, ReplayRun()), (decide_retry, RetryRun())):
        with pytest.raises(RunActive):
            follow_up(scene, verb, request)


def test_a_retry_keeps_what_was_done_and_goes_on_where_it_failed() -> None:
    scene = ended(three(), "a", error="b")
    new = follow_up(scene, decide_retry, RetryRun(reason="the disk is larger now"))
    assert (new.open, new.state.retry_of, new.state.step("a").phase) == (["b"], scene.run, "ok")
    new.ok("b")
    assert new.payload("c") == "result of a"
    new.ok("c")
    assert new.status == "COMPLETED"


def test_a_retry_from_an_earlier_step_does_everything_behind_it_again() -> None:
    scene = ended(three(), "a", "b", "c")
    new = follow_up(scene, decide_retry, RetryRun(from_step="b"))
    assert (new.open, new.state.step("c").phase) == (["b"], "idle")
    with pytest.raises(InvalidRequest):
        follow_up(scene, decide_retry, RetryRun(from_step="z"))
    with pytest.raises(InvalidRequest):
        follow_up(scene, decide_retry, RetryRun())


def test_a_retry_does_again_what_was_undone() -> None:
    flow = (
        Workflow("u", queue="q")
        .task("a", compensate_with="undo")
        .task("b", after="a")
        .task("x")
        .task("c", after=["b", "x"])
    )
    scene = RunScene(flow.task("undo").define()).start()
    scene.ok("x")
    scene.ok("a")
    scene.ok("b")
    scene.error("c")
    scene.ok("undo")
    new = follow_up(scene, decide_retry, RetryRun())
    assert (scene.status, new.open, new.state.step("x").phase) == ("FAILED", ["a"], "ok")


def test_a_retry_keeps_the_route_that_was_taken_and_what_was_decided() -> None:
    flow = (
        Workflow("r", queue="q").approval("sign", on_ok="x").task("x", input="$.outputs.sign.comment", on_ok="y").task("y")
    )  # fmt: skip
    scene = RunScene(flow.define()).start()
    scene.resolve("approved", comment="yes")
    scene.ok("x")
    scene.error("y")
    new = follow_up(scene, decide_retry, RetryRun(from_step="x"))
    assert (new.open, new.payload("x")) == (["x"], "yes")


# Migration ------------------------------------------------------------------------------------------------------------
def migrate(scene: RunScene, after: Workflow) -> Any:
    definition = after.define()
    made = scene.decide(
        lambda context: decide_migrate(scene.state, scene.definition, definition, MigrateRun(), context)
    )
    scene.definition = definition
    return made


def second(*, gone: str = "", **b: Any) -> Workflow:
    flow = Workflow("three", version=2, queue="q2").task("a").task("b", after="a", **b)
    return flow.task("c", after="b").task("d", after="c") if gone != "c" else flow


def test_a_paused_run_goes_on_under_a_new_version() -> None:
    scene = ended(three(), "a")
    scene.pause()
    migrate(scene, second())
    assert (scene.state.version, scene.open) == (2, ["b"])
    scene.resume()
    for key in ("b", "c", "d"):
        scene.ok(key)
    assert (scene.status, scene.work["d"].queue) == ("COMPLETED", "q2")


def test_a_run_that_is_not_paused_keeps_its_version() -> None:
    with pytest.raises(NotPaused):
        migrate(ended(three(), "a"), second())


@pytest.mark.parametrize(
    ("after", "code"),
    [
        (Workflow("other", queue="q").task("a").task("b", after="a"), "other_workflow"),
        (Workflow("three", version=2, queue="q").task("a"), "step_gone"),
        (Workflow("three", version=2, queue="q").task("a").human("b", after="a"), "other_performer"),
        (Workflow("three", version=2, queue="q").task("a", output="z").task("b", after="a"), "other_output"),
        (Workflow("three", version=2, queue="q").task("a").task("n").task("b", after=["a", "n"]), "passed_already"),
    ],
)
def test_a_version_that_does_not_fit_what_was_done_is_refused(after: Workflow, code: str) -> None:
    scene = ended(three(), "a")
    scene.pause()
    with pytest.raises(IncompatibleVersion) as caught:
        migrate(scene, after)
    assert code in [problem["code"] for problem in caught.value.evidence["problems"]]


# Recovery -------------------------------------------------------------------------------------------------------------
def recover(scene: RunScene) -> Any:
    known, scene.work = scene.work, {}
    made = scene.decide(lambda context: decide_recover(scene.state, scene.definition, context))
    again, scene.work = scene.work, known
    return made, again


def test_recover_asks_for_everything_that_is_under_way_once_more_and_plans_nothing() -> None:
    flow = (
        Workflow("r", queue="q").task("a").child("kid", "part").wait("nap", duration="1h").map("m", "$.input.items", max_parallel=2)
        .task("late", after=["a", "m"])
    )  # fmt: skip
    scene = RunScene(flow.define(), {"items": [1, 2, 3]}).start()
    scene.ok("m[0]")
    timers, scene.timers = scene.timers, {}
    made, again = recover(scene)
    assert (made.facts, sorted(again), scene.timers) == ((), ["a", "kid", "m[1]", "m[2]"], timers)
    assert again == {key: scene.work[key] for key in again}
    assert recover(scene)[0].facts == ()


def test_partial_start_repaired() -> None:
    whole = RunScene(three().define(), {"n": 1}).start()
    torn = RunScene(three().define(), {"n": 1})
    torn.facts = whole.facts[:1]
    torn.state = type(whole.state).model_validate(fold_of(torn).model_dump())
    made, _ = recover(torn)
    assert [f.type for f in made.facts] == ["run.runnables_planned"]
    assert torn.state == whole.state


def fold_of(scene: RunScene) -> Any:
    from tenure.flow.model.fold import fold

    return fold(scene.facts, scene.run)


def test_a_run_torn_at_every_append_comes_to_the_same_end() -> None:
    flow = (
        Workflow("torn", queue="q", output="$.outputs.c?").task("a", compensate_with="undo").approval("sign", after="a")
        .log("say", "hello", after="sign").task("b", after="say", on_error="x").task("x", on_ok="c").task("c", input={})
        .task("undo")
    )  # fmt: skip
    whole = RunScene(flow.define()).start()
    whole.ok("a", 1)
    whole.resolve("approved")
    whole.error("b")
    whole.ok("x", 1)
    whole.ok("c", 2)
    assert whole.status == "COMPLETED"
    for cut in range(1, len(whole.facts)):
        torn = RunScene(flow.define())
        torn.facts, torn.values = whole.facts[:cut], dict(whole.values)
        torn.state = fold_of(torn)
        torn.decide(lambda context, t=torn: decide_recover(t.state, t.definition, context))
        while torn.state.end is None:
            if torn.state.manual is not None:
                torn.resolve("approved")
            for key in [str(r) for r in torn.state.active]:
                torn.error(key) if key == "b" else torn.ok(key, 2)
        assert (torn.status, torn.types()) == (whole.status, whole.types())


def test_recover_of_a_run_that_is_stopping_cancels_what_is_under_way() -> None:
    scene = RunScene(three().define()).start()
    scene.cancel()
    made, again = recover(scene)
    assert ([type(c).__name__ for c in made.commands], again) == (["CancelWork"], {})


def test_recover_of_an_undoing_run_asks_for_the_undoing() -> None:
    flow = (
        Workflow("u", queue="q")
        .task("a", compensate_with="undo")
        .task("b", after="a")
        .task("undo", input="$.outputs.a")
    )
    scene = RunScene(flow.define()).start()
    scene.ok("a", 7)
    scene.error("b")
    _, again = recover(scene)
    assert again == {"undo": scene.work["undo"]}


def test_recover_of_an_ended_run_does_nothing() -> None:
    scene = ended(three(), "a", "b", "c")
    made, again = recover(scene)
    assert (made.facts, made.commands, again) == ((), (), {})


# The same request again ----------------------------------------------------------------------------------------------
VERBS = [
    (decide_pause, PauseRun), (decide_resume, ResumeRun), (decide_cancel, CancelRun), (decide_signal, SignalRun),
    (decide_resolve, ResolveStep), (decide_await, AwaitSignal),
]  # fmt: skip
MORE = {SignalRun: {"name": "s"}, ResolveStep: {"decision": "approved"}, AwaitSignal: {"runnable": "a", "name": "s"}}


@pytest.mark.parametrize(("verb", "request_type"), VERBS, ids=lambda v: getattr(v, "__name__", ""))
def test_every_verb_is_answered_once_for_a_key(verb: Any, request_type: Any) -> None:
    scene = RunScene(three().define()).start()
    asked = request_type(idempotency_key="k", **MORE.get(request_type, {}))
    before = fact(2, "run.paused", {}, idempotency_key="k", payload_hash=asked.payload_hash())
    made = verb(scene.state, scene.definition, asked, Context(scene.now, "ada", replay=before))
    assert (made.facts, made.commands, made.state, made.replayed) == ((), (), scene.state, before)
    other = replace(before, payload_hash=b"x" * 32)
    with pytest.raises(IdempotencyConflict):
        verb(scene.state, scene.definition, asked, Context(scene.now, "ada", replay=other))


def test_migration_is_answered_once_for_a_key() -> None:
    scene = RunScene(three().define()).start()
    asked = MigrateRun(idempotency_key="k")
    before = fact(2, "run.migrated", {}, idempotency_key="k", payload_hash=asked.payload_hash())
    context = Context(scene.now, "ada", replay=before)
    assert decide_migrate(scene.state, scene.definition, second().define(), asked, context).replayed is before


@pytest.mark.parametrize("request_type", [PauseRun, ResumeRun, CancelRun, SignalRun, ResolveStep])
def test_requests_that_ask_for_different_things_have_different_hashes(request_type: Any) -> None:
    more = MORE.get(request_type, {})
    one = request_type(idempotency_key="a", expected_seq=1, **more)
    assert one.payload_hash() == request_type(idempotency_key="b", **more).payload_hash()
    others = {t(**MORE.get(t, {})).payload_hash() for t in (PauseRun, ResumeRun, CancelRun, SignalRun, ResolveStep)}
    assert len(others) == 5


def test_the_reason_of_a_retry_and_what_it_follows_are_kept() -> None:
    scene = ended(three(), "a", error="b")
    new = follow_up(scene, decide_retry, RetryRun(reason="again"))
    told = new.told("started")[0]
    assert (told["retry_of"], told["reason"], told.get("replay_of")) == (scene.run, "again", None)
    told = follow_up(scene, decide_replay, ReplayRun(reason="again")).told("started")[0]
    assert (told["replay_of"], told["reason"], told.get("retry_of")) == (scene.run, "again", None)
