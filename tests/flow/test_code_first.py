"""Code-first steps: what a task did is kept as facts, and an attempt after a crash goes on behind it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tenure.flow.engine import code
from tenure.flow.engine.code import Holder
from tenure.sdk.client import AsyncTenure, Tenure
from tenure.sdk.job import Job
from tenure.sdk.outcomes import Retry
from tenure.testing import MovableClock, drain
from tests.flow.lab import FlowLab, task


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def app(migrated_database: str, clock: MovableClock) -> Iterator[Tenure]:
    with Tenure(migrated_database, clock=clock, actor="user:ada") as client:
        yield client


def workflow(app: Tenure | AsyncTenure, name: str = "code") -> Any:
    return app.workflow(name, queue="q", output=f"$.outputs.{name}").task(name)


def status(app: Tenure, run: Any) -> tuple[str, Any]:
    row = app.inspect_run(run).run
    return row.status, row.output


def test_a_kept_step_is_not_done_again_by_the_attempt_after(app: Tenure, clock: MovableClock) -> None:
    done: list[str] = []

    def note(what: str) -> str:
        done.append(what)
        return what.upper()

    @app.task(queue="q", key="code")
    def handler(job: Job) -> list[str]:
        first = job.step("first", note, "a")
        if job.attempt_number == 1:
            raise Retry("the machine is gone", after_seconds=1)
        return [first, job.step("second", note, "b"), job.step("second", note, "c")]

    workflow(app)
    app.define_workflows()
    run = app.start_run("code")
    drain(app)
    assert done == ["a"]
    clock.advance(minutes=5)
    drain(app)
    assert done == ["a", "b", "c"]
    assert status(app, run) == ("COMPLETED", ["A", "B", "C"])
    assert [m.data["name"] for m in app.run_timeline(run) if m.type == "run.step_kept"] == [
        "first",
        "second",
        "second#2",
    ]


def test_what_a_step_raises_is_not_kept(app: Tenure, clock: MovableClock) -> None:
    tries: list[int] = []

    def shaky() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("gone")
        return len(tries)

    @app.task(queue="q", key="code")
    def handler(job: Job) -> int:
        return job.step("shaky", shaky)

    workflow(app)
    app.define_workflows()
    run = app.start_run("code")
    drain(app)
    clock.advance(hours=1)
    drain(app)
    assert status(app, run) == ("COMPLETED", 2)


def test_a_sleep_holds_no_lease_and_lasts_over_attempts(app: Tenure, clock: MovableClock) -> None:
    passes: list[str] = []

    @app.task(queue="q", key="code")
    def handler(job: Job) -> str:
        passes.append("before")
        job.sleep(3600)
        passes.append("between")
        job.sleep(60)
        return "rested"

    workflow(app)
    app.define_workflows()
    run = app.start_run("code")
    drain(app)
    assert (passes, len(app.leases())) == (["before"], 0)
    clock.advance(minutes=59)
    drain(app)
    assert passes == ["before"]
    clock.advance(minutes=1)
    drain(app)
    clock.advance(minutes=1)
    drain(app)
    assert passes == ["before", "before", "between", "before", "between"]
    assert status(app, run) == ("COMPLETED", "rested")


def test_code_waits_for_events_one_for_each_place(app: Tenure) -> None:
    @app.task(queue="q", key="code")
    def handler(job: Job) -> list[Any]:
        return [job.wait_event("paid"), job.wait_event("paid")]

    workflow(app)
    app.define_workflows()
    run = app.start_run("code")
    drain(app)
    assert [reason.code for reason in app.explain_run(run)][-1] == "code_waits_for_signal"
    app.signal_run(run, "paid", {"sum": 1})
    drain(app)
    assert status(app, run)[0] == "RUNNING"
    app.signal_run(run, "paid", {"sum": 2})
    drain(app)
    assert status(app, run) == ("COMPLETED", [{"sum": 1}, {"sum": 2}])


def test_an_event_that_does_not_come_times_out(app: Tenure, clock: MovableClock) -> None:
    @app.task(queue="q", key="code")
    def handler(job: Job) -> str:
        try:
            job.wait_event("paid", timeout=60)
        except TimeoutError:
            return "never"
        return "paid"

    workflow(app)
    app.define_workflows()
    run = app.start_run("code")
    drain(app)
    clock.advance(seconds=61)
    drain(app)
    assert status(app, run) == ("COMPLETED", "never")


def test_a_child_is_the_same_child_in_every_attempt(app: Tenure, clock: MovableClock) -> None:
    started: list[str] = []

    @app.task(queue="q", key="leaf")
    def leaf() -> int:
        return 1

    @app.task(queue="q", key="code")
    def handler(job: Job) -> str:
        started.append(job.start_child("leaf", {}, key="only"))
        if job.attempt_number == 1:
            raise Retry("gone", after_seconds=1)
        return started[-1]

    workflow(app, "leaf")
    workflow(app)
    app.define_workflows()
    run = app.start_run("code")
    drain(app)
    clock.advance(minutes=5)
    drain(app)
    assert started[0] == started[1]
    (child,) = app.inspect_run(run).children
    assert (child.status, child.parent_runnable) == ("COMPLETED", "code")
    assert status(app, run) == ("COMPLETED", started[0])
    assert app.inspect_run(started[0]).run.uid == child.uid


def test_a_child_that_fails_does_not_end_the_step_whose_code_started_it(app: Tenure, clock: MovableClock) -> None:
    @app.task(queue="q", key="leaf")
    def leaf() -> None:
        raise RuntimeError("no disk")

    @app.task(queue="q", key="code")
    def handler(job: Job) -> str:
        job.start_child("leaf", {}, key="only")
        if job.attempt_number == 1:
            raise Retry("later", after_seconds=1)  # meanwhile the child fails
        return "went on without it"

    app.workflow("leaf", queue="q").task("leaf", max_attempts=1)
    workflow(app)
    app.define_workflows()
    run = app.start_run("code")
    drain(app)
    (child,) = app.inspect_run(run).children
    assert (child.status, status(app, run)[0]) == ("FAILED", "RUNNING")
    clock.advance(minutes=5)
    drain(app)
    assert status(app, run) == ("COMPLETED", "went on without it")


def test_coroutines_await_the_same(migrated_database: str, clock: MovableClock) -> None:
    async def fetched(n: int) -> int:
        await asyncio.sleep(0)
        return n + 1

    async def whole() -> Any:
        async with AsyncTenure(migrated_database, clock=clock) as app:

            @app.task(queue="q", key="code")
            async def handler(job: Job) -> list[Any]:
                got = await job.step("fetch", fetched, 1)
                await job.sleep(10)
                return [got, await job.wait_event("go")]

            workflow(app)
            await app.define_workflows()
            run = await app.start_run("code")
            await drain(app)
            clock.advance(seconds=11)
            await drain(app)
            await app.signal_run(run, "go", 7)
            await drain(app)
            row = (await app.inspect_run(run)).run
            return row.status, row.output

    assert asyncio.run(whole()) == ("COMPLETED", [2, 7])


def holding(lab: FlowLab) -> tuple[Any, Holder]:
    lab.define(task("one"))
    run = lab.start()
    (lease,) = lab.take()
    return run, Holder(lease.subject, lease.lease, lab.worker.uid)


ASKED: dict[str, Callable[[Any, Holder], Any]] = {
    "keep": lambda caller, holder: code.keep(caller, holder, "x", 1),
    "take a signal": lambda caller, holder: code.take_signal(caller, holder, "s", 1),
    "start a child": lambda caller, holder: code.start_child(caller, holder, "order", {}, "k"),
}


@pytest.mark.parametrize("what", ASKED)
def test_code_whose_lease_ran_out_keeps_and_starts_nothing(lab: FlowLab, what: str) -> None:
    run, holder = holding(lab)
    lab.bench.later(10_000)
    assert lab.bench.error(lab.run, ASKED[what], holder).code == "lease_expired"
    lab.take()
    assert lab.bench.error(lab.run, ASKED[what], holder).code == "stale_lease"
    assert lab.types(run) == ["run.started", "run.runnables_planned"]


def test_the_first_value_kept_under_a_name_stays(lab: FlowLab) -> None:
    _, holder = holding(lab)
    assert lab.run(code.keep, holder, "x", {"n": 1}).value == {"n": 1}
    assert lab.run(code.keep, holder, "x", {"n": 2}).value == {"n": 1}
    assert lab.run(code.kept, holder, "x").value == {"n": 1}
    assert lab.run(code.kept, holder, "y") is None


def test_a_child_key_used_for_another_child_is_a_conflict(lab: FlowLab) -> None:
    lab.define(task("bake"), name="cake")
    _, holder = holding(lab)
    first = lab.run(code.start_child, holder, "cake", {"n": 1}, "k")
    assert lab.run(code.start_child, holder, "cake", {"n": 1}, "k") == first
    assert lab.bench.error(lab.run, code.start_child, holder, "cake", {"n": 2}, "k").code == "child_key_conflict"
