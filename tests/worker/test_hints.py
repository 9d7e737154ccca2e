"""Hints that there is work: what wakes a worker, and what it does where none reach it."""

from __future__ import annotations

import asyncio
import logging

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tenure import Tenure
from tests.waiting import until_async
from tests.worker.conftest import state, states, working
from tests.worker.proxy import Proxy


async def test_a_hint_wakes_a_worker_that_would_have_slept(app):
    @app.task(queue="q")
    async def work() -> None: ...

    async with working(app, poll_listening=3600, standing_claim=False) as worker:
        await until_async(lambda: worker.listening)
        for number in range(1, 6):
            subject = await asyncio.to_thread(work.submit)
            await until_async(lambda subject=subject: state(app, subject) == "COMPLETED")
            assert worker.report()["hints"] == number


async def test_a_worker_is_not_woken_by_work_of_queues_that_it_does_not_serve(app):
    app.define_queue("other")

    @app.task(queue="q")
    async def work() -> None: ...

    async with working(app, poll_listening=3600, standing_claim=False) as worker:
        await until_async(lambda: worker.listening)
        await asyncio.to_thread(app.submit, queue_key="other")
        subject = await asyncio.to_thread(work.submit)
        await until_async(lambda: state(app, subject) == "COMPLETED")

        assert worker.report()["hints"] == 1


async def test_without_notify_work_is_found_by_polling(migrated_database):
    with Tenure(migrated_database, notify=False) as app:
        app.define_queue("q")

        @app.task(queue="q")
        async def work() -> None: ...

        async with working(app, poll_listening=0.05) as worker:
            await until_async(lambda: worker.listening)
            subject = await asyncio.to_thread(work.submit)
            await until_async(lambda: state(app, subject) == "COMPLETED")

            assert worker.report()["hints"] == 0


async def test_notifier_raises_and_the_run_goes_on(app):
    """The connection that brings hints breaks again and again: what was scheduled is found all the same."""
    done = []

    @app.task(queue="q", key="work")
    async def work(n: int) -> int:
        with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
            connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where query ilike 'listen%'")
        done.append(n)
        return n + 1

    chain = app.workflow("chain", queue="q")
    for number in range(5):
        given = "$.input.n" if number == 0 else f"$.outputs.s{number - 1}"
        chain.task(f"s{number}", action="work", input={"n": given}, after=[f"s{number - 1}"] if number else [])
    app.define_workflows()
    async with working(app, poll_listening=0.05):
        run = await asyncio.to_thread(app.start_run, "chain", {"n": 1})
        await until_async(lambda: app.inspect_run(run).run.status == "COMPLETED")
    assert done == [1, 2, 3, 4, 5]


async def test_work_that_its_own_handler_put_off_is_looked_for_when_it_falls_due(app):
    app.update_queue_policy("q", retry_policy={"initial_delay_seconds": 0.2, "mode": "CONSTANT"})
    attempts = []

    @app.task(queue="q")
    async def work() -> None:
        attempts.append(1)
        if len(attempts) < 3:
            raise ValueError

    async with working(app, poll_listening=3600) as worker:
        await until_async(lambda: worker.listening)
        subject = await asyncio.to_thread(work.submit)
        await until_async(lambda: state(app, subject) == "COMPLETED")

    assert len(attempts) == 3


@pytest.mark.parametrize("standing", [False, True])
async def test_a_listener_that_went_silent_is_noticed_and_the_worker_polls_until_it_is_back(tcp_app, standing):
    server = conninfo_to_dict(tcp_app.settings.dsn)

    @tcp_app.task(queue="q")
    async def work() -> None: ...

    async with Proxy("127.0.0.1", int(server["port"])) as proxy:
        through = make_conninfo(**server | {"port": proxy.port})
        options = {"listen_dsn": through, "listen_ping": 0.3, "poll_listening": 3600, "standing_claim": standing}
        async with working(tcp_app, **options) as worker:
            await until_async(lambda: worker.listening)
            proxy.stop_forwarding()
            await until_async(lambda: not worker.listening)

            unheard = await asyncio.to_thread(work.submit)
            await until_async(lambda: state(tcp_app, unheard) == "COMPLETED")
            assert worker.report()["hints"] == 0

            proxy.forward()
            await until_async(lambda: worker.listening)
            before = worker.report()["answered"]  # the first may have been, until the claim was withdrawn
            heard = await asyncio.to_thread(work.submit)
            await until_async(lambda: state(tcp_app, heard) == "COMPLETED")
            assert worker.report()["hints"] == int(not standing)
            assert worker.report()["answered"] == before + int(standing)
    assert proxy.connections >= 2


async def test_behind_a_pooler_a_worker_says_that_it_polls_and_does_everything(app, pooled, caplog):
    caplog.set_level(logging.INFO, "tenure.worker")
    with Tenure(pooled(app.settings.dsn)) as through:

        @through.task(queue="q")
        async def work(number: int) -> int:
            return number

        await asyncio.to_thread(through.submit_many, [work.request(n) for n in range(500)])
        async with working(through) as worker:
            await until_async(lambda: worker.report()["completed"] == 500)
            assert not worker.listening
            late = await asyncio.to_thread(work.submit, 500)
            await until_async(lambda: state(app, late) == "COMPLETED")

    told = " ".join(record.getMessage() for record in caplog.records)
    assert "through a pooler (no prepared statements, no LISTEN): polling for work" in told
    assert states(app) == {"COMPLETED": 501}
    assert app.verify().clean


@pytest.mark.parametrize("batch", [1, 50])
async def test_of_a_subject_for_several_workers_none_waits_for_its_next_poll(app, batch):
    """Those who look at the same moment find it locked by the first, and the first waits for them here."""
    barrier = asyncio.Barrier(3)

    @app.task(queue="q")
    async def judge() -> None:
        await barrier.wait()

    options = {"poll_listening": 3600, "batch": batch, "concurrency": batch}
    async with working(app, **options) as first, working(app, **options) as second, working(app, **options) as third:
        await until_async(lambda: first.listening and second.listening and third.listening)
        for number in range(1, 6):
            await asyncio.to_thread(app.submit, queue_key="q", slots=3)
            await until_async(lambda number=number: states(app) == {"COMPLETED": number})
