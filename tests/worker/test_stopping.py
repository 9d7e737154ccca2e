"""How a worker comes to its end: signals, and what operators make of it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psycopg
import pytest

from tenure import Worker
from tests.waiting import until_async
from tests.worker.conftest import fact_types, state, states, working
from tests.worker.serving import secret_of

SCRIPT = """
import asyncio, pathlib
from tenure import Tenure, Worker
app = Tenure({dsn})
here = pathlib.Path({folder!r})

@app.task(queue="q", key="work")
async def work(number: int) -> str:
    (here / f"begun-{{number}}").touch()
    while not (here / "finish").exists():
        await asyncio.sleep(0.01)
    return "finished"

Worker(app, concurrency=2, prefetch=10).run()
"""


@pytest.fixture(params=["database", "http"])
def transport(request) -> str:
    return request.param


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_running_work_finish_and_gives_the_rest_back_at_once(app, tmp_path, number):
    subjects = app.submit_many(
        [{"queue_key": "q", "next_action_key": "work", "properties": {"number": n}} for n in range(6)]
    )
    # Over HTTP it knows no database, only a URL and a token.
    script = SCRIPT.format(dsn=repr(app.settings.dsn) if app.worker_address is None else "", folder=str(tmp_path))
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(tmp_path)}
    if app.worker_address is not None:
        environment |= {"TENURE_URL": app.worker_address.url, "TENURE_TOKEN": secret_of(app.worker_address)}
    process = subprocess.Popen([sys.executable, "-c", script], env=environment, cwd=tmp_path)  # noqa: ASYNC220 - returns at once
    try:
        await until_async(lambda: len(list(tmp_path.glob("begun-*"))) == 2)
        await until_async(lambda: states(app) == {"RUNNING": 6})

        process.send_signal(number)

        await until_async(lambda: states(app) == {"READY": 4, "RUNNING": 2})
        assert len(app.queue_items("q")) == 4  # visible to others at once, while the two go on
        assert process.poll() is None
        (tmp_path / "finish").touch()
        assert process.wait(20) == 0
    finally:
        process.kill()

    assert states(app) == {"COMPLETED": 2, "READY": 4}
    assert len(list(tmp_path.glob("begun-*"))) == 2
    released = [s for s in subjects if "lease.released" in fact_types(app, s)]
    assert len(released) == 4
    assert all(app.inspect(s).situation.thread.envelope.attempt_count == 0 for s in released)
    assert app.workers() == []  # it had made its own key, and retired it
    assert app.verify().clean


async def test_a_coroutine_that_outlasts_the_grace_is_canceled_and_its_work_given_back(app):
    begun, cleaned = asyncio.Event(), []

    @app.task(queue="q")
    async def work() -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)  # takes a moment to clean up
            cleaned.append(1)

    subject = work.submit()
    async with working(app, grace=0.05) as worker:
        await begun.wait()
        worker.stop()

    assert cleaned == [1]
    assert (state(app, subject), fact_types(app, subject)[-1]) == ("READY", "lease.released")


async def test_a_plain_function_that_outlasts_the_grace_keeps_its_lease_until_it_runs_out(app):
    begun, finish = threading.Event(), threading.Event()

    @app.task(queue="q")
    def work() -> None:
        begun.set()
        finish.wait(20)

    subject = work.submit()
    async with working(app, grace=0.05) as worker:
        await until_async(begun.is_set)
        worker.stop()

    finish.set()
    assert (state(app, subject), fact_types(app, subject)[-1]) == ("RUNNING", "lease.claimed")


async def test_a_coroutine_that_heeds_no_cancellation_is_told_of_as_left(app, monkeypatch):
    monkeypatch.setattr("tenure.sdk.worker.worker._PATIENCE", 0.05)
    begun, finish = asyncio.Event(), asyncio.Event()

    @app.task(queue="q")
    async def work() -> None:
        begun.set()
        while not finish.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await finish.wait()

    work.submit()
    async with working(app, grace=0.05) as worker:
        await begun.wait()
        worker.stop()

    assert worker.left == 1
    finish.set()


EMBEDDED = """
import asyncio, threading
from tenure import Tenure, Worker
app = Tenure({dsn!r})

@app.task(queue="q", key="work")
def work() -> None:
    worker.stop_from_thread()
    threading.Event().wait()

worker = Worker(app, grace=0)
asyncio.run(worker.serve())
print("left", worker.left)
"""


@pytest.mark.parametrize("transport", ["database"])
def test_a_program_that_has_a_worker_in_it_goes_on_when_that_has_left_a_function_and_ends_when_it_wants(app, tmp_path):
    app.submit(queue_key="q", next_action_key="work")

    command = [sys.executable, "-c", EMBEDDED.format(dsn=app.settings.dsn)]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(command, env=environment, cwd=tmp_path, timeout=60, capture_output=True, text=True)  # noqa: PLW1510

    assert (ended.returncode, ended.stdout) == (0, "left 1\n"), ended.stderr


async def test_a_worker_starts_while_a_table_is_locked(app):
    with psycopg.connect(app.settings.dsn) as blocker:
        blocker.execute("lock table tenure.attempt in share mode")
        async with working(app) as worker:
            assert worker.ready.is_set()
            blocker.rollback()


async def test_a_claim_under_way_when_the_worker_is_stopped_is_given_back(app):
    @app.task(queue="q")
    async def work() -> None: ...

    subject = work.submit()
    with psycopg.connect(app.settings.dsn) as blocker:
        blocker.execute("lock table tenure.attempt in share mode")
        async with working(app) as worker:
            await until_async(lambda: _claims_that_wait(app) == 1)
            worker.stop()
            await asyncio.sleep(0)
            blocker.rollback()

    assert (state(app, subject), app.leases()) == ("READY", [])
    assert fact_types(app, subject) == ["subject.submitted", "lease.claimed", "lease.released"]


def _claims_that_wait(app):
    with psycopg.connect(app.settings.dsn) as connection:
        query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        return connection.execute(query).fetchone()[0]


@pytest.mark.parametrize("transport", ["database"])  # by hints, which only that has
async def test_a_draining_worker_finishes_what_it_holds_and_takes_nothing_new(app):
    begun, finish = asyncio.Event(), asyncio.Event()

    @app.task(queue="q")
    async def work() -> None:
        begun.set()
        await finish.wait()

    first = work.submit()
    async with working(app, heartbeat_ttl_seconds=1) as worker:
        await begun.wait()
        await asyncio.to_thread(app.drain_worker, worker.row, reason="service")
        await until_async(lambda: worker.status == "DRAINING")
        finish.set()
        await until_async(lambda: state(app, first) == "COMPLETED")
        claims, hints = worker.report()["claims"], worker.report()["hints"]
        second = await asyncio.to_thread(work.submit)
        for more in (1, 2, 3):
            await until_async(lambda more=more: worker.report()["hints"] >= hints + more)
            await asyncio.to_thread(work.submit)
        assert worker.report()["claims"] == claims
        assert state(app, second) == "READY"

        await asyncio.to_thread(app.enable_worker, worker.row)
        await until_async(lambda: state(app, second) == "COMPLETED")


@pytest.mark.parametrize(
    ("action", "told"), [("retire_worker", "The worker was retired"), ("disable_worker", "disabled: broken")]
)
async def test_a_worker_that_is_retired_or_disabled_stops_by_itself(app, action, told):
    @app.task(queue="q")
    async def work() -> None: ...

    async with working(app, heartbeat_ttl_seconds=1) as worker:
        await asyncio.to_thread(getattr(app, action), worker.row, reason="broken")
        await until_async(lambda: told in worker.reason)

    subject = work.submit()
    assert state(app, subject) == "READY"


async def test_a_worker_that_is_canceled_or_fails_is_not_said_to_work(app, monkeypatch):
    async def fail(self) -> None:
        raise LookupError

    async with asyncio.timeout(30):
        serving = asyncio.ensure_future((worker := Worker(app, address=app.worker_address)).serve())
        await worker.ready.wait()
        serving.cancel()
        await asyncio.wait([serving])
        assert (serving.cancelled(), app.workers()) == (True, [])

        monkeypatch.setattr("tenure.sdk.worker.acknowledger.Acknowledger.run", fail)
        with pytest.raises(LookupError):
            await Worker(app, address=app.worker_address).serve()
        assert app.workers() == []


async def test_a_worker_ends_whatever_comes_at_the_moment_at_which_it_is_canceled(app):
    for _ in range(20):
        serving = asyncio.ensure_future((worker := Worker(app, address=app.worker_address)).serve())
        await worker.ready.wait()
        serving.cancel()
        assert await asyncio.wait([serving], timeout=10) == ({serving}, set())


@pytest.mark.parametrize("transport", ["http"])
async def test_a_draining_worker_takes_nothing_over_http_either(app):
    begun, finish = asyncio.Event(), asyncio.Event()

    @app.task(queue="q")
    async def work() -> None:
        begun.set()
        await finish.wait()

    first = work.submit()
    async with working(app, heartbeat_ttl_seconds=1) as worker:
        await begun.wait()
        await asyncio.to_thread(app.drain_worker, worker.row, reason="service")
        await until_async(lambda: worker.status == "DRAINING")
        finish.set()
        await until_async(lambda: state(app, first) == "COMPLETED")
        second = await asyncio.to_thread(work.submit)
        for _ in range(2):
            beat = app.workers()[0].heartbeat_at
            await until_async(lambda beat=beat: app.workers()[0].heartbeat_at > beat)
        assert state(app, second) == "READY"

        await asyncio.to_thread(app.enable_worker, worker.row)
        await until_async(lambda: state(app, second) == "COMPLETED")


@pytest.mark.parametrize("transport", ["http"])
async def test_an_idle_worker_that_waits_on_the_server_stops_at_once(app):
    async with working(app) as worker:
        await until_async(lambda: app.settings and app.workers())
        begun = asyncio.get_running_loop().time()
        worker.stop()
    assert asyncio.get_running_loop().time() - begun < 5  # a long poll takes 20 s
    assert app.workers() == []
