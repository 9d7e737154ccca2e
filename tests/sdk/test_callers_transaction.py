"""Submitting inside somebody else's transaction: psycopg's or SQLAlchemy's, sync or async; together or not at all."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.pq import TransactionStatus
from sqlalchemy import create_engine, text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from tenure import Tenure
from tenure.model.errors import IdempotencyConflict, InvalidRequest, QueueUnknown
from tenure.testing import drain


@pytest.fixture
def work(app):
    """A task whose subject carries the number of an order as external reference."""

    @app.task(queue="q", key="work")
    def work(number: int) -> None: ...

    return work


@pytest.fixture
def async_work(async_app):
    @async_app.task(queue="q", key="work")
    async def work(number: int) -> None: ...

    return work


def both(database: str) -> tuple[int, int]:
    """How many orders there are, and how many subjects."""
    with psycopg.connect(database) as connection:
        return connection.execute(
            "select (select count(*) from orders), (select count(*) from tenure.subject)"
        ).fetchone()


def url(dsn: str) -> str:
    return dsn.replace("postgresql://", "postgresql+psycopg://")


def test_a_commit_of_the_caller_keeps_data_and_job(app, work, database_with_orders):
    with psycopg.connect(database_with_orders) as connection:
        connection.execute("insert into orders values (1)")
        work.submit(1, tx=connection)
        assert both(database_with_orders) == (0, 0)

    assert both(database_with_orders) == (1, 1)
    assert drain(app)["completed"] == 1


def test_a_rollback_of_the_caller_loses_both(app, work, database_with_orders):
    with psycopg.connect(database_with_orders) as connection:
        connection.execute("insert into orders values (1)")
        work.submit(1, tx=connection)
        connection.rollback()

    assert both(database_with_orders) == (0, 0)
    assert app.verify().clean


def test_an_autocommit_connection_within_a_transaction_block_joins_it(app, work, database_with_orders):
    with psycopg.connect(database_with_orders, autocommit=True) as connection:
        with pytest.raises(RuntimeError), connection.transaction():
            work.submit(1, tx=connection)
            raise RuntimeError
        work.submit(2, tx=connection)
        assert connection.info.transaction_status is TransactionStatus.IDLE

    assert both(database_with_orders) == (0, 1)


def test_a_refused_submit_leaves_the_callers_transaction_usable(app, work, database_with_orders):
    with psycopg.connect(database_with_orders) as connection:
        connection.execute("insert into orders values (1)")
        with pytest.raises(QueueUnknown):
            work.with_options(queue_key="nowhere").submit(1, tx=connection)
        work.with_options(idempotency_key="k").submit(1, tx=connection)
        with pytest.raises(IdempotencyConflict):
            work.with_options(idempotency_key="k").submit(2, tx=connection)

    assert both(database_with_orders) == (1, 1)


def test_a_caller_in_a_pipeline_gets_its_answers_within_it(app, work, database_with_orders):
    with psycopg.connect(database_with_orders) as connection, connection.pipeline():
        connection.execute("insert into orders values (1)")
        first = work.with_options(idempotency_key="k").submit(1, tx=connection)
        connection.execute("insert into orders values (2)")
        many = app.within(connection).submit_many([work.request(number) for number in range(2500)])
        assert work.with_options(idempotency_key="k").submit(1, tx=connection).subject == first.subject
        assert len({one.subject for one in many} | {first.subject}) == 2501

    assert both(database_with_orders) == (2, 2501)


async def test_the_same_holds_for_an_async_connection(async_app, async_work, database_with_orders):
    async with await psycopg.AsyncConnection.connect(database_with_orders) as connection:
        await connection.execute("insert into orders values (1)")
        await async_work.submit(1, tx=connection)
        await connection.rollback()
    assert both(database_with_orders) == (0, 0)

    async with await psycopg.AsyncConnection.connect(database_with_orders) as connection:
        await connection.execute("insert into orders values (1)")
        await async_work.submit(1, tx=connection)
    assert both(database_with_orders) == (1, 1)
    assert (await drain(async_app))["completed"] == 1


@pytest.mark.parametrize("held", ["session", "connection"])
def test_a_sqlalchemy_session_or_connection_takes_the_job_along(work, database_with_orders, held):
    engine = create_engine(url(database_with_orders))

    def begin():
        return Session(engine) if held == "session" else engine.connect()

    with begin() as transaction:
        transaction.execute(text("insert into orders values (1)"))
        work.submit(1, tx=transaction)
        transaction.rollback()
    assert both(database_with_orders) == (0, 0)

    with begin() as transaction:
        work.submit(1, tx=transaction)  # before the session has done anything itself
        transaction.execute(text("insert into orders values (1)"))
        assert both(database_with_orders) == (0, 0)
        transaction.commit()
    assert both(database_with_orders) == (1, 1)
    engine.dispose()


@pytest.mark.parametrize("held", ["session", "connection"])
async def test_an_async_sqlalchemy_session_or_connection_takes_the_job_along(async_work, database_with_orders, held):
    engine = create_async_engine(url(database_with_orders))

    def begin():
        return AsyncSession(engine) if held == "session" else engine.connect()

    async with begin() as transaction:
        await transaction.execute(text("insert into orders values (1)"))
        await async_work.submit(1, tx=transaction)
        await transaction.rollback()
    assert both(database_with_orders) == (0, 0)

    async with begin() as transaction:
        await async_work.submit(1, tx=transaction)
        await transaction.execute(text("insert into orders values (1)"))
        assert both(database_with_orders) == (0, 0)
        await transaction.commit()
    assert both(database_with_orders) == (1, 1)
    await engine.dispose()


def test_a_sqlalchemy_connection_commits_a_job_also_where_it_did_nothing_else(work, database_with_orders):
    engine = create_engine(url(database_with_orders))
    with engine.connect() as connection:
        work.submit(1, tx=connection)
        connection.commit()

    assert both(database_with_orders) == (0, 1)
    engine.dispose()


async def test_an_async_sqlalchemy_connection_does_so_too(async_work, database_with_orders):
    engine = create_async_engine(url(database_with_orders))
    async with engine.connect() as connection:
        await async_work.submit(1, tx=connection)
        await connection.commit()

    assert both(database_with_orders) == (0, 1)
    await engine.dispose()


def test_a_transaction_of_the_client_holds_several_actions_together(app, work, database_with_orders):
    with pytest.raises(RuntimeError), app.transaction() as tx:
        tx.connection.execute("insert into orders values (1)")
        held = work.submit(1, tx=tx)
        tx.hold(held, reason="wait")
        raise RuntimeError
    assert both(database_with_orders) == (0, 0)

    with app.transaction() as tx:
        tx.connection.execute("insert into orders values (1)")
        held = work.submit(1, tx=tx)
        tx.hold(held, reason="wait")
    assert both(database_with_orders) == (1, 1)
    assert app.inspect(held).situation.thread.envelope.state == "HELD"


def test_a_transaction_within_one_is_a_savepoint(app, work, database_with_orders):
    with app.transaction() as tx:
        work.submit(1, tx=tx)
        with pytest.raises(RuntimeError), tx.transaction() as inner:
            work.submit(2, tx=inner)
            raise RuntimeError

    assert both(database_with_orders) == (0, 1)


async def test_the_same_holds_for_an_async_client(async_app, async_work, database_with_orders):
    with pytest.raises(RuntimeError):
        async with async_app.transaction() as tx:
            await async_work.submit(1, tx=tx)
            raise RuntimeError
    async with async_app.transaction() as tx:
        await async_work.submit(1, tx=tx)
        with pytest.raises(RuntimeError):
            async with tx.transaction() as inner:
                await async_work.submit(2, tx=inner)
                raise RuntimeError

    assert both(database_with_orders) == (0, 1)


def test_a_client_with_a_single_connection_can_begin_with_a_transaction(database_with_orders):
    with Tenure(database_with_orders, max_connections=1) as app, app.transaction() as tx:
        tx.define_queue("q")
        tx.submit(queue_key="q")

    assert both(database_with_orders) == (0, 1)


def test_what_was_rolled_back_is_not_remembered(app):
    with pytest.raises(RuntimeError), app.transaction() as tx:
        tx.define_queue("samples", subject_template_codes=("sample/1.0",))
        tx.submit(queue_key="samples", template="sample/1.0")
        raise RuntimeError
    app.define_queue("samples", subject_template_codes=("sample/1.0",))

    app.submit(queue_key="samples", template="sample/1.0")

    assert app.verify().clean


@pytest.mark.parametrize("nothing", ["a string", 7, object()])
def test_what_is_no_transaction_is_refused(work, nothing):
    with pytest.raises(InvalidRequest, match="no transaction that Tenure can join"):
        work.submit(1, tx=nothing)


async def test_a_sync_connection_is_refused_by_an_async_client(async_work, database_with_orders):
    with (
        psycopg.connect(database_with_orders) as connection,
        pytest.raises(InvalidRequest, match="no transaction that Tenure can join"),
    ):
        await async_work.submit(1, tx=connection)


def test_a_key_in_a_callers_transaction_is_replayed_there_and_free_again_after_a_rollback(app, work):
    keyed = work.with_options(idempotency_key="order-1")
    with psycopg.connect(app.settings.dsn) as connection:
        first, again = keyed.submit(1, tx=connection), keyed.submit(1, tx=connection)
        assert (again.subject, again.replayed) == (first.subject, True)
        connection.rollback()

    after = keyed.submit(1)

    assert not after.replayed
    assert keyed.submit(1).subject == after.subject


@pytest.mark.parametrize("first_commits", [True, False])
def test_a_second_submit_of_a_key_waits_for_what_becomes_of_the_first(app, work, database_with_orders, first_commits):
    keyed = work.with_options(idempotency_key="order-1")
    with psycopg.connect(database_with_orders) as connection, ThreadPoolExecutor(1) as pool:
        first = keyed.submit(1, tx=connection)
        second = pool.submit(keyed.submit, 1)
        wait_until_blocked(database_with_orders)
        connection.commit() if first_commits else connection.rollback()

        answer = second.result(10)

    assert answer.replayed is first_commits
    assert (answer.subject == first.subject) is first_commits
    assert both(database_with_orders) == (0, 1)


def test_many_submits_of_a_key_at_once_make_one_subject(app, work):
    keyed = work.with_options(idempotency_key="once")
    together = threading.Barrier(8)

    def submit() -> tuple[int, bool]:
        together.wait()
        answer = keyed.submit(1)
        return answer.subject, answer.replayed

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: submit(), range(8)))

    assert len({subject for subject, _ in answers}) == 1
    assert [replayed for _, replayed in answers].count(False) == 1
    assert app.verify().clean


def wait_until_blocked(dsn: str) -> None:
    deadline = time.monotonic() + 10
    with psycopg.connect(dsn, autocommit=True) as connection:
        query = "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        while not connection.execute(query).fetchall():
            assert time.monotonic() < deadline
            time.sleep(0.01)
