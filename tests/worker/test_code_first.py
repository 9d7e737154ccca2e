"""What code keeps, sleeps, waits for and starts, in plain jobs and in steps of runs, over a database and over HTTP alike."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tenure.sdk.job import Job
from tenure.sdk.outcomes import Retry
from tests.worker.conftest import App, drained, working


@pytest.fixture(params=["database", "http"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_a_plain_job_keeps_waits_and_starts_a_child(app: App) -> None:
    done: list[str] = []
    children: list[str] = []

    @app.task(queue="q", key="bake")
    def bake(n: int) -> int:
        return n * 2

    @app.task(queue="q", key="mail")
    def mail(job: Job, to: str) -> list[Any]:
        first = job.step("first", lambda: done.append(to) or len(done))
        if job.attempt_number == 1:
            raise Retry("the machine is gone", after_seconds=0)
        children.append(job.start_child("cake", {"n": 4}, key="only"))
        return [first, job.wait_event("go")]

    app.workflow("cake", queue="q", output="$.outputs.bake").task("bake")
    app.define_workflows()
    subject = mail.submit("ada").subject
    drained(app)
    app.signal_job(subject, "go", {"by": "hanna"})
    drained(app)
    (run,) = [row for row in app.runs() if row.name.startswith("job.mail.")]
    assert (run.status, run.output) == ("COMPLETED", [1, {"by": "hanna"}])
    assert (done, len(set(children))) == (["ada"], 1)
    assert app.inspect_run(children[0]).run.output == 8
    report = app.verify()
    assert report.clean, report.first


def test_a_step_of_a_run_keeps_and_times_out(app: App) -> None:
    @app.task(queue="q", key="code")
    def handler(job: Job) -> list[Any]:
        kept = job.step("kept", lambda: {"n": 1})
        job.sleep(0)
        try:
            job.wait_event("never", timeout=0)
        except TimeoutError as error:
            return [kept, str(error)]
        return [kept]

    app.workflow("code", queue="q", output="$.outputs.code").task("code")
    app.define_workflows()
    run = app.start_run("code")
    drained(app)
    assert app.inspect_run(run).run.output == [{"n": 1}, "No signal 'never' came within 0 s."]


async def test_a_job_that_sleeps_holds_no_lease_and_goes_on(app: App) -> None:
    passes: list[str] = []
    rested = threading.Event()

    @app.task(queue="q", key="rest")
    async def rest(job: Job) -> str:
        passes.append("before")
        await job.sleep(0.3)
        rested.set()
        return await job.step("said", lambda: "rested")

    await asyncio.to_thread(rest.submit)
    async with working(app, address=app.worker_address):
        assert await asyncio.to_thread(rested.wait, 20)
    assert passes == ["before", "before"]


def test_what_code_may_not_have_is_said_in_its_own_error(app: App) -> None:
    said: list[str] = []

    @app.task(queue="q", key="lost")
    def lost(job: Job) -> None:
        try:
            job.start_child("nothing", {}, key="k")
        except Exception as error:
            said.append(getattr(error, "code", type(error).__name__))

    lost.submit()
    drained(app)
    assert said == ["workflow_unknown"]
