"""Tasks that take a connection: what they write commits with the completion of their step, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tenure import Tenure, Worker
from tenure.model.errors import InvalidRequest
from tenure.sdk.http.operations import NotOverHttp
from tenure.sdk.job import Job
from tenure.sdk.outcomes import Defer, Fail, Retry
from tenure.testing import MovableClock, drain


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def app(migrated_database: str, clock: MovableClock) -> Iterator[Tenure]:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        connection.execute("create table public.booking (amount int)")
    with Tenure(migrated_database, clock=clock, actor="user:ada") as client:
        yield client
        report = client.verify()
        assert report.clean, report.first


def booked(app: Tenure) -> list[int]:
    with psycopg.connect(app.settings.dsn) as connection:
        return [amount for (amount,) in connection.execute("select amount from public.booking order by 1")]


def order(app: Tenure) -> Any:
    app.workflow("order", queue="q", output="$.outputs.book?").task("book", recovery="transaction")
    app.define_workflows()
    return app.start_run("order", {"amount": 7})


def test_what_a_transaction_step_writes_commits_with_its_completion(app: Tenure) -> None:
    @app.task(queue="q", key="book")
    def book(amount: int, tx: psycopg.Connection) -> str:
        tx.execute("insert into public.booking values (%s)", [amount])
        assert booked(app) == []  # nobody sees it yet
        return "booked"

    run = order(app)
    assert drain(app)["completed"] == 1
    row = app.inspect_run(run).run
    assert (booked(app), row.status, row.output) == ([7], "COMPLETED", "booked")


@pytest.mark.parametrize("raised", [RuntimeError("no"), Retry("later"), Fail("never"), Defer(seconds=60)])
def test_a_transaction_step_that_fails_is_rolled_back(app: Tenure, raised: BaseException) -> None:
    @app.task(queue="q", key="book")
    def book(amount: int, tx: psycopg.Connection) -> None:
        tx.execute("insert into public.booking values (%s)", [amount])
        raise raised

    run = order(app)
    drain(app)
    assert booked(app) == []
    assert app.inspect_run(run).run.status in ("RUNNING", "FAILED")


def test_a_transaction_step_whose_lease_ran_out_is_rolled_back_and_done_once_by_the_next(
    app: Tenure, clock: MovableClock
) -> None:
    tries: list[int] = []

    @app.task(queue="q", key="book")
    def book(amount: int, tx: psycopg.Connection, job: Job) -> None:
        tries.append(job.attempt_number)
        tx.execute("insert into public.booking values (%s)", [amount])
        if len(tries) == 1:
            clock.advance(hours=2)
            tx.execute("select set_config('tenure.now', %s, false)", [clock().isoformat()])

    run = order(app)
    drain(app)
    clock.advance(hours=2)
    drain(app)
    assert (len(tries), booked(app)) == (2, [7])
    assert app.inspect_run(run).run.status == "COMPLETED"


def test_a_result_that_cannot_be_kept_rolls_the_transaction_step_back(app: Tenure) -> None:
    @app.task(queue="q", key="book")
    def book(amount: int, tx: psycopg.Connection) -> Any:
        tx.execute("insert into public.booking values (%s)", [amount])
        return object()

    run = order(app)
    drain(app)
    assert booked(app) == []
    assert app.inspect_run(run).run.status == "FAILED"


def test_a_plain_job_takes_part_in_a_transaction_too(app: Tenure) -> None:
    @app.task(queue="q")
    def book(amount: int, tx: psycopg.Connection) -> None:
        tx.execute("insert into public.booking values (%s)", [amount])

    app.define_queue("q")
    book.submit(3)
    drain(app)
    assert booked(app) == [3]


def test_a_coroutine_takes_an_async_connection(app: Tenure) -> None:
    @app.task(queue="q")
    async def book(amount: int, tx: psycopg.AsyncConnection) -> None:
        await tx.execute("insert into public.booking values (%s)", [amount])
        if amount < 0:
            raise ValueError("no")

    app.define_queue("q")
    book.submit(4)
    book.submit(-4)
    drain(app)
    assert booked(app) == [4]


def test_a_connection_of_the_other_kind_is_refused_where_the_task_is_defined(app: Tenure) -> None:
    with pytest.raises(InvalidRequest, match="other kind"):

        @app.task(queue="q")
        def book(tx: psycopg.AsyncConnection) -> None: ...


def test_a_worker_over_http_says_that_it_has_no_transaction(app: Tenure) -> None:
    @app.task(queue="q")
    def book(tx: psycopg.Connection) -> None: ...

    from tenure.sdk.http.address import Address

    with pytest.raises(NotOverHttp, match="takes a connection"):
        asyncio.run(Worker(app, address=Address("http://127.0.0.1:9", token="t" * 43), drain=True).serve())
