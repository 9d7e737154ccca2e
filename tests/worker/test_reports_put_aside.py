"""Reports whose subject, or run, somebody's open transaction holds: they are put aside, and keep no others waiting."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from tests.waiting import until_async
from tests.worker.conftest import fact_types, state, working


@pytest.mark.parametrize("outcome", ["result", "error"])
async def test_what_a_transaction_holds_is_reported_after_it_and_everything_else_at_once(app, outcome):
    finish = asyncio.Event()

    @app.task(queue="q", max_attempts=1)
    async def work(n: int) -> int:
        await finish.wait()
        if outcome == "error":
            raise ValueError(n)
        return n

    count = "completed" if outcome == "result" else "failed"
    subjects = [work.submit(n=n).subject for n in range(4)]
    async with working(app) as worker:
        await until_async(
            lambda: all("execution.started" in fact_types(app, s) or state(app, s) == "RUNNING" for s in subjects)
        )
        with psycopg.connect(app.settings.dsn) as theirs:
            await asyncio.to_thread(app.within(theirs).hold, subjects[0], reason="thought over for a while")
            finish.set()
            await until_async(lambda: worker.report()[count] == 3)
            more = [work.submit(n=n).subject for n in range(4, 40)]
            await until_async(lambda: worker.report()[count] == 39)
            theirs.rollback()
        await until_async(lambda: worker.report()[count] == 40)

    assert {state(app, s) for s in [*subjects, *more]} == {"COMPLETED" if outcome == "result" else "FAILED_TERMINAL"}
    assert worker.report()["refused"] == worker.report()["lost"] == 0
    assert app.verify().clean


async def test_what_a_transaction_took_away_meanwhile_is_refused(app):
    finish = asyncio.Event()

    @app.task(queue="q")
    async def work() -> None:
        await finish.wait()

    subject = work.submit().subject
    async with working(app) as worker:
        await until_async(lambda: state(app, subject) == "RUNNING")
        with psycopg.connect(app.settings.dsn) as theirs:
            await asyncio.to_thread(app.within(theirs).cancel, subject, reason="not wanted any more")
            finish.set()
            other = work.submit().subject
            await until_async(lambda: state(app, other) == "COMPLETED")
        await until_async(lambda: worker.report()["refused"] + worker.report()["lost"] == 1)

    assert state(app, subject) == "CANCELED"
    assert app.verify().clean


async def test_a_run_that_a_transaction_holds_keeps_only_its_own_steps_from_being_reported(app):
    finish = asyncio.Event()

    @app.task(queue="q", key="bake")
    async def bake() -> int:
        await finish.wait()
        return 1

    app.workflow("cake", queue="q", output="$.outputs.bake").task("bake")
    app.define_workflows()
    held, *others = [app.start_run("cake", {}).run for _ in range(5)]
    async with working(app) as worker:
        await until_async(lambda: worker.report()["claimed"] == 5)
        with psycopg.connect(app.settings.dsn) as theirs:
            await asyncio.to_thread(app.within(theirs).pause_run, held, reason="thought over for a while")
            finish.set()
            await until_async(lambda: all(app.inspect_run(run).run.status == "COMPLETED" for run in others))
            theirs.rollback()
        await until_async(lambda: app.inspect_run(held).run.status == "COMPLETED")

    assert worker.report()["refused"] == 0
    assert app.verify().clean
