"""Leases while handlers are at work: renewed in one statement, kept beyond their ttl, and let go of when lost."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from contextlib import contextmanager

import psycopg
import pytest

from tenure import Job
from tenure.sdk.worker import executing
from tenure.sdk.worker.executing import Executing
from tenure.testing import drain
from tests.waiting import until_async
from tests.worker.conftest import fact_types, state, states, working


@pytest.fixture(params=["database", "http"])
def transport(request) -> str:
    return request.param


@contextmanager
def counted_statements(monkeypatch):
    """Counts what is sent on async connections by its first comment-free line; the claims, reports and renewals do so."""
    counts: Counter[str] = Counter()
    execute = psycopg.AsyncCursor.execute

    async def counting(self, query, *args, **kwargs):
        text = query if isinstance(query, str) else str(query)
        for name, mark in (
            ("claim", "lease.claimed"),
            ("complete", "execution.completed"),
            ("renew", "lease.renewed"),
            ("apply", "jsonb_to_recordset"),
        ):
            if mark in text and "insert into tenure.fact" in text:
                counts[name] += 1
        return await execute(self, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.AsyncCursor, "execute", counting)
    yield counts
    monkeypatch.undo()


@pytest.mark.parametrize("jobs", [100, 400])
def test_claims_and_reports_cost_a_statement_for_a_batch_not_for_a_job(app, monkeypatch, jobs):
    @app.task(queue="q")
    async def nothing() -> None: ...

    app.submit_many([nothing.request() for _ in range(jobs)])
    with counted_statements(monkeypatch) as counts:
        report = drain(app, batch=100, concurrency=100, prefetch=0)

    assert report["completed"] == jobs
    assert counts["claim"] <= jobs / 100 * 2 + 3
    assert counts["complete"] <= jobs / 100 * 2 + 3


async def test_fifty_leases_are_renewed_in_a_statement_or_two(app, monkeypatch):
    finish = asyncio.Event()

    @app.task(queue="q")
    async def wait() -> None:
        await finish.wait()

    app.submit_many([wait.request() for _ in range(50)])
    with counted_statements(monkeypatch) as counts:
        async with working(app, lease_ttl_seconds=1) as worker:
            await until_async(lambda: worker.report()["renewals"] >= 150)
            renewals, statements = worker.report()["renewals"], counts["renew"]
            finish.set()
            await until_async(lambda: worker.report()["completed"] == 50)

    # The first few were claimed a moment before the rest, and may fall due a tick before them.
    assert renewals >= 50 / 2 * statements
    assert counts["apply"] == 0
    assert app.verify().clean


@pytest.mark.parametrize("executor", ["async", "thread"])
async def test_a_long_job_keeps_its_lease_beyond_the_ttl(app, executor):
    finish, finish_thread, ran = asyncio.Event(), threading.Event(), []

    if executor == "async":

        @app.task(queue="q")
        async def long(job: Job) -> None:
            await finish.wait()
            ran.append(job.lost)
    else:

        @app.task(queue="q")
        def long(job: Job) -> None:
            finish_thread.wait(20)
            ran.append(job.lost)

    subject = long.submit()
    async with working(app, lease_ttl_seconds=1) as worker:
        await until_async(lambda: fact_types(app, subject).count("lease.renewed") >= 4)
        finish.set()
        finish_thread.set()
        await until_async(lambda: worker.report()["completed"] == 1)

    history = app.history(subject)
    assert ran == [False]
    assert len(history.attempts) == 1
    assert (history.attempts[0].attempt.ended_at - history.attempts[0].attempt.claimed_at).total_seconds() > 1


async def test_a_transaction_that_holds_one_subject_keeps_no_other_lease_waiting(app):
    finish, ran = asyncio.Event(), Counter()

    @app.task(queue="q")
    async def long(n: int) -> None:
        ran[n] += 1
        await finish.wait()

    subjects = [long.submit(n=n).subject for n in range(5)]
    async with working(app, lease_ttl_seconds=2) as worker:
        await until_async(lambda: len(ran) == 5)
        with psycopg.connect(app.settings.dsn) as theirs:
            await asyncio.to_thread(app.within(theirs).hold, subjects[0], reason="thought over for a while")
            # Longer than a lease lasts: nothing would have held without renewals.
            await until_async(lambda: all(fact_types(app, s).count("lease.renewed") >= 4 for s in subjects[1:]))
            theirs.rollback()
        await until_async(lambda: ran[0] == 2)
        finish.set()
        await until_async(lambda: worker.report()["completed"] == 5)

    assert ran == {0: 2, 1: 1, 2: 1, 3: 1, 4: 1}
    assert worker.report()["lost"] == 1
    assert app.verify().clean


async def test_whatever_keeps_its_heartbeat_waiting_a_worker_renews_its_leases(app):
    finish, ran = asyncio.Event(), []

    @app.task(queue="q")
    async def long() -> None:
        ran.append(1)
        await finish.wait()

    subject = long.submit().subject
    async with working(app, lease_ttl_seconds=2, heartbeat_ttl_seconds=1) as worker:
        await until_async(lambda: ran)
        with psycopg.connect(app.settings.dsn) as theirs:
            await asyncio.to_thread(app.within(theirs).drain_worker, worker.row.uid, reason="thought over for a while")
            renewed = fact_types(app, subject).count("lease.renewed")
            await until_async(lambda: fact_types(app, subject).count("lease.renewed") >= renewed + 4)
            theirs.rollback()
        finish.set()
        await until_async(lambda: worker.report()["completed"] == 1)

    assert ran == [1]
    assert worker.report()["lost"] == 0


@pytest.mark.parametrize("intervention", ["cancel", "hold"])
async def test_a_coroutine_whose_subject_is_taken_from_it_is_canceled_and_reports_nothing(app, intervention):
    begun, ended = asyncio.Event(), asyncio.Event()
    told = []

    @app.task(queue="q")
    async def work(job: Job) -> str:
        begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            told.append(job.lost)
            ended.set()
            raise
        return "done"

    subject = work.submit()
    async with working(app, lease_ttl_seconds=1) as worker:
        await begun.wait()
        await asyncio.to_thread(getattr(app, intervention), subject, reason="stop the line")
        before = fact_types(app, subject)
        await asyncio.wait_for(ended.wait(), 20)
        await until_async(lambda: worker.report()["lost"] == 1)
        report = worker.report()

    assert told == [True]
    assert (report["completed"], report["failed"], report["released"], report["refused"]) == (0, 0, 0, 0)
    assert fact_types(app, subject) == before
    assert state(app, subject) == {"cancel": "CANCELED", "hold": "HELD"}[intervention]
    assert app.verify().clean


async def test_a_plain_function_learns_that_its_lease_is_lost_and_its_result_is_dropped(app):
    begun, seen_lost = threading.Event(), threading.Event()

    @app.task(queue="q")
    def work(job: Job) -> str:
        begun.set()
        while not job.lost:
            threading.Event().wait(0.01)
        seen_lost.set()
        return "too late"

    subject = work.submit()
    async with working(app, lease_ttl_seconds=1) as worker:
        await until_async(begun.is_set)
        await asyncio.to_thread(app.cancel, subject, reason="stop")
        before = fact_types(app, subject)
        await until_async(seen_lost.is_set)
        await until_async(lambda: worker.report()["lost"] == 1)
        assert worker.report()["completed"] == 0

    assert fact_types(app, subject) == before


async def test_the_place_of_a_job_whose_lease_is_lost_before_its_first_step_is_given_back(app, monkeypatch):
    monkeypatch.setattr(executing, "_EAGER", False)  # a coroutine's first step is taken in the next pass of the loop
    launch, lost, ran = Executing._launch, [], []

    def losing(self):
        launch(self)
        if not lost:
            lost.extend(held for held in self._holding.all() if held.running is not None)
            for held in lost:
                self._holding.lose(held)

    monkeypatch.setattr(Executing, "_launch", losing)

    @app.task(queue="q", limit_key=lambda arguments: "all", key_limit=1)
    async def work(number: int) -> None:
        ran.append(number)

    app.submit_many([work.request(n) for n in range(5)])
    async with working(app, concurrency=1) as worker:
        await until_async(lambda: worker.report()["completed"] == 4)

    assert len(lost) == 1
    assert lost[0].item.properties["number"] not in ran


async def test_what_a_superseded_worker_held_is_taken_over_by_its_successor(app):
    stuck, ran = asyncio.Event(), []

    @app.task(queue="q")
    async def work(job: Job) -> None:
        ran.append(job.attempt_number)
        if job.attempt_number == 1:
            await stuck.wait()

    app.submit_many([work.request() for _ in range(5)])
    options = {"worker_key": "bench-3", "lease_ttl_seconds": 1, "grace": 0.1}
    async with working(app, **options) as first:
        await until_async(lambda: len(ran) == 5)
        async with working(app, **options) as second:
            await until_async(lambda: "registered under this worker_key" in first.reason)
            await until_async(lambda: states(app) == {"COMPLETED": 5})
            assert second.row.incarnation == first.row.incarnation + 1

    assert sorted(ran) == [1] * 5 + [2] * 5
    assert app.leases() == []
    assert app.verify().clean
