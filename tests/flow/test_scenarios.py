"""Scenarios of S3 and design 02 that take the kernel and runs together, by the names that they have there."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.flow.model.errors import (
    IncompatibleVersion,
    NotPaused,
    RunKeyConflict,
    UnsafeReplay,
    WorkflowUnknown,
)  # fmt: skip
from tenure.model.errors import AlreadyExists, InvalidPayload
from tests.flow.lab import FlowLab, postgres_lab, step, task


@pytest.fixture
def pg(migrated_database: str) -> Iterator[FlowLab]:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        yield postgres_lab(connection)


def all_at_once(lab: FlowLab, works: list[Callable[[FlowLab], Any]]) -> list[Any]:
    """Do things at the same moment, each over a connection of its own; what came of each."""
    start, outcomes = threading.Barrier(len(works)), [None] * len(works)

    def doing(number: int) -> None:
        with lab.bench.beside() as bench:
            own = FlowLab.__new__(FlowLab)
            own.bench, own.flow, own.worker, own.connection, own.tampered = bench, lab.flow, lab.worker, None, True
            bench.caller = lab.bench.caller
            start.wait(30)
            try:
                outcomes[number] = works[number](own)
            except Exception as error:
                outcomes[number] = error

    threads = [threading.Thread(target=doing, args=(n,)) for n in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcomes


# Starting ------------------------------------------------------------------------------------------------------------
def test_same_run_key_with_another_plan(lab: FlowLab) -> None:
    lab.define(task("one"))
    first = lab.start(value={"n": 1}, key="k")
    assert lab.start(value={"n": 1}, key="k").run == first.run
    with pytest.raises(RunKeyConflict):
        lab.start(value={"n": 2}, key="k")
    assert lab.waiting() == ["one"]


def test_duplicate_start_after_completion(lab: FlowLab) -> None:
    lab.define(task("one"))
    first = lab.start(key="k")
    lab.work()
    again = lab.start(key="k")
    assert (again.run, again.status, again.replayed) == (first.run, "COMPLETED", True)
    assert lab.waiting() == []


def test_concurrent_starts_under_one_key_are_one_run(pg: FlowLab) -> None:
    pg.define(task("one"))
    outcomes = all_at_once(pg, [lambda own: own.start(key="k")] * 6)
    assert len({outcome.run for outcome in outcomes}) == 1
    assert sorted(outcome.replayed for outcome in outcomes) == [False] + [True] * 5
    assert pg.waiting() == ["one"]


def test_an_input_that_breaks_the_schema_starts_nothing(lab: FlowLab) -> None:
    lab.define(task("one"), input_schema={"type": "object", "required": ["n"]})
    with pytest.raises(InvalidPayload):
        lab.start(value={})
    assert lab.list() == []


def test_a_workflow_that_is_not_there(lab: FlowLab) -> None:
    with pytest.raises(WorkflowUnknown):
        lab.start("nowhere")


# Versions ------------------------------------------------------------------------------------------------------------
def test_two_versions_are_live_at_once_and_each_run_keeps_its_own(lab: FlowLab) -> None:
    lab.define(task("one"), version=1)
    old = lab.start()
    lab.define(task("one", on_ok="two"), task("two"), version=2)
    new = lab.start()
    lab.drain()
    assert lab.types(old).count("run.runnable_applied") == 1
    assert lab.types(new).count("run.runnable_applied") == 2
    assert (lab.state(old).version, lab.state(new).version) == (1, 2)


def test_a_version_is_what_it_was_registered_as(lab: FlowLab) -> None:
    lab.define(task("one"))
    lab.define(task("one"))
    with pytest.raises(AlreadyExists):
        lab.define(task("one"), task("two"))


def test_a_paused_run_migrates_to_a_version_that_fits(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"), version=1)
    run = lab.start()
    lab.define(task("one", on_ok="three"), task("three"), version=2)
    lab.define(task("other"), version=3)
    with pytest.raises(NotPaused):
        lab.migrate(run, 2)
    lab.pause(run)
    with pytest.raises(IncompatibleVersion):
        lab.migrate(run, 3)
    lab.migrate(run, 2, reason="better")
    lab.resume(run)
    lab.work()
    assert lab.waiting() == ["three"]


# Going on after an end -----------------------------------------------------------------------------------------------
def test_a_retry_keeps_what_was_done_before_the_step_that_failed(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two", input="$.outputs.one"), output="$.outputs.two?")
    run = lab.start(value={"n": 1})
    lab.work({"kept": True})
    lab.fail()
    again = lab.retry(run, reason="fixed")
    assert lab.waiting() == ["two"]
    assert dict(lab.work("done").item.properties) == {"kept": True}
    assert lab.ended(again) == ("COMPLETED", None, "done")
    assert lab.status(run) == "FAILED"


def test_unsafe_replay(lab: FlowLab) -> None:
    lab.define(task("pay", recovery="irreversible", on_ok="ship"), task("ship"))
    run = lab.start(value={"n": 1})
    lab.work()
    lab.fail()
    with pytest.raises(UnsafeReplay):
        lab.replay(run)
    with pytest.raises(UnsafeReplay):
        lab.replay(run, force=True)
    forced = lab.replay(run, force=True, reason="the bank undid it")
    assert (forced.status, lab.row(forced).input) == ("RUNNING", {"n": 1})
    assert lab.retry(run).status == "RUNNING"


# Joins, ends, takeovers ----------------------------------------------------------------------------------------------
def test_concurrent_root_completions_and_the_join(pg: FlowLab) -> None:
    roots = [f"r{n}" for n in range(5)]
    pg.define(*(task(name) for name in roots), task("join", after=roots))
    runs = [pg.start() for _ in range(4)]
    leases = pg.take(limit=100)
    assert len(leases) == 20
    shares = [leases[n::5] for n in range(5)]
    outcomes = all_at_once(
        pg, [lambda own, share=share: [own.bench.complete(lease, result=1) for lease in share] for share in shares]
    )
    assert [outcome for outcome in outcomes if isinstance(outcome, Exception)] == []
    assert pg.waiting() == ["join"] * 4
    pg.drain()
    assert {pg.status(run) for run in runs} == {"COMPLETED"}
    assert pg.verified().clean


def test_cancel_against_late_completion(pg: FlowLab) -> None:
    pg.define(task("a"), task("b"))
    for _ in range(6):
        raced(pg)
    assert pg.verified().clean


def raced(pg: FlowLab) -> None:
    run = pg.start()
    one, two = pg.take(limit=2)
    outcomes = all_at_once(
        pg, [lambda own: own.cancel(run), lambda own: own.bench.complete(one), lambda own: own.bench.complete(two)]
    )
    pg.bench.later(6)
    pg.tick()
    assert pg.status(run) in ("CANCELED", "COMPLETED"), outcomes
    assert pg.waiting() == []


def test_zombie_completes_after_takeover(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"))
    run = lab.start()
    (zombie,) = lab.take()
    lab.bench.later(10_000)
    (lease,) = lab.take()
    assert lab.bench.error(lab.bench.complete, zombie, result="old").code == "lease_expired"
    lab.bench.complete(lease, result="new")
    assert lab.bench.error(lab.bench.complete, zombie, result="old").code == "lease_expired"
    assert lab.waiting() == ["two"]
    assert lab.state(run).outputs["one"].ref == f"record:{lease.lease + 1}"


def test_duplicate_completion_moves_the_run_once(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two"))
    run = lab.start()
    (lease,) = lab.take()
    assert not lab.bench.complete(lease, result=1).replayed
    assert lab.bench.complete(lease, result=1).replayed
    assert lab.bench.error(lab.bench.complete, lease, result=2).code == "idempotency_conflict"
    assert lab.types(run).count("run.runnable_applied") == 1
    assert lab.waiting() == ["two"]


def test_a_step_is_tried_again_as_it_says_not_as_its_queue_says(lab: FlowLab) -> None:
    lab.define(task("one", retry={"mode": "CONSTANT", "initial_delay_seconds": 7}), task("two"))
    lab.start()
    for lease in lab.take(limit=2):
        lab.bench.fail(lease, retryable=True)
    waits = {
        str(env.next_action_key): env.retry_at - lab.bench.now
        for s in lab.bench.run(lab.storage.standings([lab.list()[0].uid], everything=False))
        if (env := lab.bench.envelope(s.runnable.subject))
    }
    assert waits == {"one": timedelta(seconds=7), "two": timedelta(seconds=60)}


def test_a_completion_that_is_rolled_back_moves_no_run(pg: FlowLab) -> None:
    pg.define(task("one", on_ok="two"), task("two"))
    run = pg.start()
    (lease,) = pg.take()
    assert pg.connection is not None
    with pytest.raises(RuntimeError), pg.connection.transaction():
        pg.bench.complete(lease)
        assert pg.waiting() == ["two"]
        raise RuntimeError
    assert (pg.waiting(), pg.types(run)) == ([], ["run.started", "run.runnables_planned"])
    pg.bench.complete(lease)
    assert pg.waiting() == ["two"]


def test_token_never_in_facts_or_logs(lab: FlowLab, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    lab.define(task("one"))
    run = lab.start()
    (lease,) = lab.take()
    lab.bench.complete(lease, result={"n": 1})
    written = str(lab.bench.facts(lease.subject)) + str(lab.bench.run(lab.storage.journal.load(run.run))) + caplog.text
    assert lease.token.reveal() not in written
    assert lease.token.digest.hex() not in written


def test_a_run_that_stops_while_work_is_locked_elsewhere_stops_it_at_the_next_look(pg: FlowLab) -> None:
    pg.define(task("a"), task("b"))
    run = pg.start()
    busy, failing = pg.take(limit=2)
    with pg.bench.beside() as other:
        assert pg.connection is not None
        with psycopg.connect(pg.connection.info.dsn) as holder:
            holder.execute("select from tenure.execution where uid = %s for update", [busy.subject])
            pg.bench.fail(failing, error_class="PERMANENT_INPUT", error_code="E1")
            assert (pg.status(run), pg.bench.state(busy.subject)) == ("RUNNING", "RUNNING")
            holder.rollback()
        del other
    assert pg.tick() == 0
    pg.bench.later(5)
    assert pg.tick() == 1
    assert pg.ended(run)[:2] == ("FAILED", "E1")
    assert pg.bench.state(busy.subject) == "CANCELED"


def test_step_log_and_wait_steps_need_no_worker(lab: FlowLab) -> None:
    lab.define(step("say", "log", message=["hello ", "$.input.who"], on_ok="rest"), step("rest", "wait", duration="1s"))
    run = lab.start(value={"who": "Ada"})
    lab.bench.later(1)
    lab.tick()
    assert lab.status(run) == "COMPLETED"
    assert any((f.data or {}).get("message") == "hello Ada" for f in lab.bench.run(lab.storage.journal.load(run.run)))
