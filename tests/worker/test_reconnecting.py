"""Connections that break under a worker: it opens new ones, and nothing is lost or done without a trace."""

from __future__ import annotations

import asyncio

import psycopg

from tenure import Tenure
from tenure.model.errors import StoreUnavailable
from tenure.sdk.worker.link import Link
from tests.waiting import until_async
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
