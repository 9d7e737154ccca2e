"""Coroutines, threads and processes do real work, within the limits that were set."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter

import pytest

from tenure import Job
from tenure.testing import drain
from tests.worker import handlers
from tests.worker.conftest import fact_types, state


class Meter:
    """How many were inside at once, at most, by name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: Counter[str] = Counter()
        self.most: Counter[str] = Counter()
        self.entered = 0

    def enter(self, name: str = "") -> None:
        with self._lock:
            self.entered += 1
            self._inside[name] += 1
            self.most[name] = max(self.most[name], self._inside[name])

    def leave(self, name: str = "") -> None:
        with self._lock:
            self._inside[name] -= 1


def test_coroutines_run_side_by_side_in_the_loop(app):
    thread, here, all_here = set(), [], asyncio.Event()

    @app.task(queue="q")
    async def meet(number: int) -> int:
        thread.add(threading.get_ident())
        here.append(number)
        if len(here) == 20:
            all_here.set()
        await all_here.wait()
        return number

    subjects = app.submit_many([meet.request(n) for n in range(20)])
    drain(app)

    assert thread == {threading.get_ident()}
    assert [app.history(s).attempts[0].result for s in subjects] == list(range(20))


def test_plain_functions_run_side_by_side_in_threads(app):
    together = threading.Barrier(8, timeout=20)

    @app.task(queue="q")
    def meet(job: Job) -> str:
        together.wait()
        return f"{threading.current_thread().name} {job.subject}"

    subjects = app.submit_many([meet.request() for _ in range(8)])
    assert drain(app)["completed"] == 8

    names = {app.history(s).attempts[0].result.split()[0] for s in subjects}
    assert len(names) == 8
    assert all(name.startswith("tenure-handler") for name in names)


def test_functions_run_in_processes_of_their_own(app):
    task = app.task(queue="q", executor="process")(handlers.process_number)

    subjects = app.submit_many([task.request(n) for n in range(6)])
    assert drain(app, processes=2)["completed"] == 6

    results = [app.history(s).attempts[0].result for s in subjects]
    assert [number for number, _ in results] == list(range(6))
    assert os.getpid() not in {pid for _, pid in results}


def test_what_a_function_raises_in_another_process_is_told_here(app):
    awkward = app.task(queue="q", executor="process", max_attempts=1)(handlers.fail_awkwardly).submit()
    later = app.task(queue="q", executor="process")(handlers.put_off).submit()
    again = app.task(queue="q", executor="process")(handlers.try_again).submit()

    report = drain(app, processes=1)

    assert (report["failed"], report["deferred"]) == (2, 1)
    attempt = app.history(awkward).attempts[0]
    assert (attempt.attempt.error_code, state(app, awkward)) == ("Awkward", "FAILED_TERMINAL")
    assert "1 and 2" in attempt.error_message
    assert app.history(again).attempts[0].attempt.error_code == "busy"
    assert fact_types(app, later)[-1] == "execution.deferred"


def test_a_process_that_is_killed_fails_its_job_and_the_next_finds_another(app, tmp_path):
    task = app.task(queue="q", executor="process")(handlers.die_once)
    subject = task.submit(str(tmp_path / "been-here"))

    drain(app, processes=1)

    first, second = sorted(app.history(subject).attempts, key=lambda row: row.attempt.uid)
    assert (first.attempt.record_status, first.attempt.error_code) == ("FAILED_RETRYABLE", "BrokenProcessPool")
    assert second.result == "alive"


@pytest.mark.parametrize("executor", ["async", "thread"])
def test_no_more_handlers_run_at_once_than_the_concurrency(app, executor):
    meter = Meter()
    if executor == "async":

        @app.task(queue="q")
        async def work() -> None:
            meter.enter()
            await asyncio.sleep(0.002)
            meter.leave()
    else:

        @app.task(queue="q")
        def work() -> None:
            meter.enter()
            time.sleep(0.002)
            meter.leave()

    app.submit_many([work.request() for _ in range(60)])
    drain(app, concurrency=4, prefetch=20)

    assert (meter.entered, meter.most[""]) == (60, 4)


def test_jobs_of_one_key_wait_for_each_other_and_keep_nobody_else_waiting(app):
    meter, another_was_served = Meter(), asyncio.Event()

    @app.task(queue="q", limit_key=lambda arguments: arguments["customer"], key_limit=2)
    async def serve(customer: str) -> None:
        meter.enter(customer)
        if customer == "busy":
            await another_was_served.wait()
        else:
            another_was_served.set()
        meter.leave(customer)

    app.submit_many([serve.request("busy") for _ in range(20)])
    app.submit_many([serve.request("quiet") for _ in range(3)])
    drain(app, concurrency=4, prefetch=50)

    assert meter.entered == 23
    assert meter.most["busy"] == 2


def test_a_queue_limit_holds_and_is_not_starved_by_a_full_house(app):
    meter, all_done = Meter(), asyncio.Event()
    app.define_queue("scarce")

    @app.task(queue="scarce")
    async def scarce() -> None:
        meter.enter()
        await asyncio.sleep(0.001)
        meter.leave()
        if meter.entered == 10:
            all_done.set()

    @app.task(queue="q")
    async def long() -> None:
        await all_done.wait()

    app.submit_many([long.request() for _ in range(30)])
    app.submit_many([scarce.request() for _ in range(10)])
    drain(app, queue_limits={"scarce": 2})

    assert (meter.entered, meter.most[""]) == (10, 2)
