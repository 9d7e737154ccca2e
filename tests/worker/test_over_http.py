"""A worker over HTTP whose server, network, token or process is taken from it in the middle of its work."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest

from tenure import Job, Worker
from tenure.sdk.http.address import Address
from tenure.sdk.http.problem import TurnedAway
from tests.waiting import until_async
from tests.worker.conftest import fact_types, reached_by, state, states, working
from tests.worker.serving import Proxy, ServerProcess, address_for, secret_of, serving, token_of


def completions(app) -> list[int]:
    """How often each subject was completed, for those that were."""
    with psycopg.connect(app.settings.dsn) as connection:
        query = "select count(*) from tenure.fact where type = 'execution.completed' group by thread"
        return [count for (count,) in connection.execute(query).fetchall()]


@pytest.mark.slow
async def test_work_goes_on_when_the_server_is_killed_and_started_again(app, tmp_path):
    server = ServerProcess(app.settings.dsn, tmp_path)
    ran = []

    @app.task(queue="q")
    async def work(number: int) -> int:
        ran.append(number)
        await asyncio.sleep(0.02)
        return number

    app.submit_many([work.request(number) for number in range(200)])
    server.start()
    try:
        await asyncio.to_thread(server.wait)
        address = Address(server.url, token_of(app))
        async with working(app, address=address, lease_ttl_seconds=60, concurrency=5, prefetch=10, batch=5) as worker:
            await until_async(lambda: len(ran) >= 50)
            server.end(signal.SIGKILL)
            server.start()
            await until_async(lambda: len(ran) >= 130, 60)
            # In a thread: a worker that stood still would keep the server waiting for what it is sending.
            await asyncio.to_thread(server.end, signal.SIGTERM)
            server.start()
            await until_async(lambda: states(app) == {"COMPLETED": 200}, 60)
            assert worker.report()["lost"] == 0
    finally:
        server.end()

    assert completions(app) == [1] * 200
    assert len(ran) == 200  # no lease was lost, so nothing ran twice
    assert app.verify().clean


async def test_work_goes_on_when_the_network_is_cut_again_and_again(app):
    ran = []

    @app.task(queue="q")
    async def work(number: int) -> int:
        ran.append(number)
        await asyncio.sleep(0.005)
        return number

    app.submit_many([work.request(number) for number in range(300)])
    with serving(app) as server:
        async with Proxy(int(server.url.rpartition(":")[2])) as proxy:
            address = Address(f"http://127.0.0.1:{proxy.port}", token_of(app))
            async with working(app, address=address, concurrency=5, prefetch=10, batch=5, lease_ttl_seconds=60):
                for share in (50, 100, 150, 200, 250):
                    await until_async(lambda share=share: len(ran) >= share)
                    proxy.cut()
                await until_async(lambda: states(app) == {"COMPLETED": 300}, 60)

    assert completions(app) == [1] * 300
    assert sorted(ran) == list(range(300))
    assert app.verify().clean


@pytest.mark.parametrize("route", ["claim", "batch"])
async def test_what_was_done_though_its_answer_was_lost_is_not_done_again(app, route):
    ran = []

    @app.task(queue="q")
    async def work() -> str:
        ran.append(1)
        return "done"

    with serving(app) as server:
        async with Proxy(int(server.url.rpartition(":")[2])) as proxy:
            address = Address(f"http://127.0.0.1:{proxy.port}", token_of(app))
            proxy.swallow = f"/actions/{route}".encode()
            subject = await asyncio.to_thread(work.submit)
            async with working(app, address=address):
                await until_async(lambda: state(app, subject) == "COMPLETED")
                await until_async(lambda: not app.leases())

    assert proxy.swallowed == 1
    assert ran == [1]
    assert fact_types(app, subject) == ["subject.submitted", "lease.claimed", "execution.completed"]


async def test_a_lease_is_held_at_most_as_long_as_the_database_says_however_long_the_claim_waited(app):
    seen = []

    @app.task(queue="q")
    async def work(job: Job) -> None:
        left = job.deadline - time.monotonic()
        with psycopg.connect(app.settings.dsn) as connection:
            query = "select extract(epoch from expires_at - clock_timestamp()) from tenure.attempt where uid = %s"
            seen.append((left, float(connection.execute(query, [job.item.lease]).fetchone()[0])))

    with serving(app) as server:
        async with working(app, address=address_for(app, server), lease_ttl_seconds=10) as worker:
            waiting = server.application.state.waiting
            await until_async(lambda: len(waiting.lines) == 1)
            waited = time.monotonic()
            await until_async(lambda: time.monotonic() - waited > 1.5)
            await asyncio.to_thread(work.submit)
            await until_async(lambda: worker.report()["completed"] == 1)

    [(known, real)] = seen
    assert known <= real + 0.5  # what the database took to answer the question
    assert known > 10 - 1.4  # the wait is not counted against it


async def test_a_token_that_is_revoked_stops_the_worker_and_its_handlers(app):
    begun, canceled = asyncio.Event(), []

    @app.task(queue="q")
    async def work(job: Job) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            canceled.append(job.lost)
            raise

    subject = work.submit()
    with serving(app) as server:
        worker = Worker(app, address=address_for(app, server), queues=["q"], lease_ttl_seconds=2)
        serving_ = asyncio.create_task(worker.serve())
        await begun.wait()
        [token] = await asyncio.to_thread(app.tokens)
        await asyncio.to_thread(app.revoke_token, token)
        with pytest.raises(TurnedAway, match="turns this worker away"):
            await asyncio.wait_for(serving_, 20)
        with reached_by(app, "database"):
            await until_async(lambda: canceled)

    assert canceled == [True]
    assert (state(app, subject), fact_types(app, subject)[-1]) in [
        ("RUNNING", "lease.claimed"), ("RUNNING", "lease.renewed"),
    ]  # fmt: skip


@pytest.mark.slow
async def test_a_worker_that_is_asked_to_wait_waits(app):
    @app.task(queue="q")
    async def work() -> None: ...

    app.submit_many([work.request() for _ in range(12)])
    with serving(app, rate_per_second=4.0, rate_burst=1) as server:
        async with working(app, address=address_for(app, server), batch=2, concurrency=2, prefetch=0) as worker:
            await until_async(lambda: states(app) == {"COMPLETED": 12}, 60)
            assert worker.report()["refused"] == 0


async def test_results_that_are_too_large_together_are_sent_in_parts_and_one_too_large_fails(app):
    @app.task(queue="q")
    async def work(size: int) -> str:
        await asyncio.sleep(0.05)
        return "x" * size

    app.define_queue("strict", max_attempts_default=1)
    small = app.submit_many([work.request(3_000) for _ in range(10)])
    large = work.with_options(queue_key="strict").submit(100_000)
    with serving(app, max_body_bytes=20_000) as server:
        async with working(app, address=address_for(app, server), queues=["q", "strict"]) as worker:
            await until_async(lambda: worker.report()["completed"] == 10 and worker.report()["failed"] == 1)

    assert {state(app, subject) for subject in small} == {"COMPLETED"}
    [row] = app.history(large).attempts
    assert row.attempt.error_code == "body_too_large"


SCRIPT = """
import asyncio, pathlib
from tenure import Tenure, Worker
app = Tenure()

@app.task(queue="q", key="work")
async def work(number: int) -> None:
    pathlib.Path(f"begun-{number}").touch()
    await asyncio.sleep(60)

Worker(app, concurrency=3, prefetch=2, lease_ttl_seconds=1).run()
"""


async def test_what_a_killed_worker_held_is_taken_over(app, tmp_path):
    subjects = app.submit_many(
        [{"queue_key": "q", "next_action_key": "work", "properties": {"number": n}} for n in range(5)]
    )
    with serving(app) as server:
        address = address_for(app, server)
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("TENURE_")},
            "PYTHONPATH": str(Path(__file__).parents[2]), "TENURE_URL": address.url, "TENURE_TOKEN": secret_of(address),
        }  # fmt: skip
        process = subprocess.Popen([sys.executable, "-c", SCRIPT], env=environment, cwd=tmp_path)  # noqa: ASYNC220
        try:
            await until_async(lambda: len(list(tmp_path.glob("begun-*"))) == 3, 60)
        finally:
            process.kill()
            process.wait(10)

        @app.task(queue="q", key="work")
        async def work(number: int) -> int:
            return number

        async with working(app, address=address):
            await until_async(lambda: states(app) == {"COMPLETED": 5}, 60)

    assert {len(app.history(subject).attempts) for subject in subjects} == {2}
    assert app.verify().clean
