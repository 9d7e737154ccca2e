"""Connections that break under a worker: it opens new ones, and nothing is lost or done without a trace."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import psycopg
import pytest

from tenure import Tenure
from tenure.model.errors import StoreUnavailable
from tenure.sdk.worker.link import Link
from tenure.store.postgres import own_connection
from tests.waiting import until, until_async
from tests.worker.conftest import backends, state, states, working


def cut_all(app) -> int:
    """Terminate every backend that serves Tenure's own connections; how many there were."""
    with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
        return sum(connection.execute("select pg_terminate_backend(%s)", [pid]).fetchone()[0] for pid in backends(app))


async def test_work_goes_on_after_all_backends_were_terminated_again_and_again(app, tell):
    ran = []

    @app.task(queue="q")
    async def work(number: int) -> int:
        ran.append(number)
        await asyncio.sleep(0.001)
        return number

    app.submit_many([work.request(n) for n in range(600)])
    cut = 0
    async with working(app, lease_ttl_seconds=2, concurrency=5, prefetch=15, batch=10) as worker:
        for share in (50, 150, 250, 350, 450):
            await until_async(lambda share=share: len(ran) >= share)
            cut += await asyncio.to_thread(cut_all, app)
        await until_async(lambda: states(app) == {"COMPLETED": 600})
        report = worker.report()

    assert cut >= 8  # the listener takes a second to come back, so it is not always there to be cut
    assert set(ran) == set(range(600))
    with Tenure(app.settings.dsn) as reading:
        assert reading.leases() == []
        assert reading.dead_letters() == []
        assert reading.verify().clean
    tell(f"cut {cut} connections; ran {len(ran)} times; {report}")


def cut(app: Tenure, pids: Collection[int]) -> None:
    """Terminate these backends, and wait until they are gone."""
    with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
        for pid in pids:
            connection.execute("select pg_terminate_backend(%s)", [pid])
        there = "select pid from pg_stat_activity where pid = any (%s)"
        until(lambda: not connection.execute(there, [list(pids)]).fetchall())


@pytest.mark.parametrize("executor", ["async", "thread"])
async def test_a_connection_that_broke_while_it_was_kept_for_the_next_transaction_costs_no_job_an_attempt(
    app, executor, monkeypatch
):
    # What is kept never rests so long that it would be asked for a sign of life for that reason.
    monkeypatch.setattr(own_connection, "_LONG", 3600.0)
    used: list[int] = []

    if executor == "async":

        @app.task(queue="q", max_attempts=1)
        async def work(tx: psycopg.AsyncConnection) -> None:
            used.append(tx.info.backend_pid)
    else:

        @app.task(queue="q", max_attempts=1)
        def work(tx: psycopg.Connection) -> None:
            used.append(tx.info.backend_pid)

    async with working(app, concurrency=1) as worker:
        for completed in (1, 2, 3):
            work.submit()
            await until_async(lambda completed=completed: worker.report()["completed"] == completed)
        await asyncio.to_thread(cut, app, set(used))
        last = work.submit()
        await until_async(lambda: state(app, last) not in ("READY", "RUNNING"))

    assert state(app, last) == "COMPLETED"
    assert len(set(used[:3])) == 1  # it was kept
    assert used[3] != used[0]


async def test_a_claim_whose_answer_was_lost_is_taken_up_at_once(app, monkeypatch):
    attempt, lost = Link.attempt, []

    async def losing(self, make):
        answer = await attempt(self, make)
        if getattr(answer, "items", None) and not lost:
            lost.append(answer)
            raise StoreUnavailable("The answer was lost.")
        return answer

    monkeypatch.setattr(Link, "attempt", losing)

    @app.task(queue="q")
    async def work() -> None: ...

    subject = work.submit()
    async with working(app, poll_listening=3600):
        await until_async(lambda: state(app, subject) == "COMPLETED")

    assert len(lost) == 1
    assert len(app.history(subject).attempts) == 1
    assert app.verify().clean


async def test_a_report_that_could_not_be_sent_is_sent_again(app):
    begun, finish = asyncio.Event(), asyncio.Event()

    @app.task(queue="q")
    async def work() -> str:
        begun.set()
        await finish.wait()
        return "done"

    subject = work.submit()
    async with working(app):
        await begun.wait()
        await asyncio.to_thread(cut_all, app)
        finish.set()
        await until_async(lambda: states(app) == {"COMPLETED": 1})

    with Tenure(app.settings.dsn) as reading:
        [row] = reading.history(subject).attempts
        assert row.result == "done"
