"""A server that restarted is not noticed by who calls next: no call is lost, and none is made twice."""

from __future__ import annotations

import gc
import time

import psycopg
import pytest

from tenure import AsyncTenure, Tenure
from tenure.api.gateway import Gateway
from tenure.store.postgres import own_connection
from tenure.store.postgres.migrate import migrate


@pytest.fixture(autouse=True)
def just_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection ever rests so long that it would be asked for that reason."""
    monkeypatch.setattr(own_connection, "_LONG", 3600.0)


def cut_all(dsn: str) -> int:
    """End every session of the database but this one, and wait until they are gone; how many there were."""
    others = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    others += " and backend_type = 'client backend'"
    cut: set[int] = set()
    with psycopg.connect(dsn, autocommit=True) as connection:
        deadline = time.monotonic() + 20
        # Again and again: one that a pool was just opening was not seen the first time.
        while found := connection.execute(f"select pid, pg_terminate_backend(pid) {others}").fetchall():
            assert time.monotonic() < deadline
            cut.update(pid for pid, _ in found)
            time.sleep(0.005)
    return len(cut)


def test_the_next_calls_after_all_sessions_were_ended_work(database_with_orders, app):
    first = app.submit(queue_key="q")
    assert cut_all(database_with_orders) >= 1

    second = app.submit(queue_key="q")
    cut_all(database_with_orders)
    app.hold(second.subject, reason="look at it")

    assert [item.envelope.uid for item in app.queue_items("q")] == [first.subject]


async def test_the_next_calls_of_the_async_client_work_too(database_with_orders, async_app):
    first = await async_app.submit(queue_key="q")
    assert cut_all(database_with_orders) >= 1

    second = await async_app.submit(queue_key="q")
    cut_all(database_with_orders)
    await async_app.hold(second.subject, reason="look at it")

    assert [item.envelope.uid for item in await async_app.queue_items("q")] == [first.subject]


def _kept(kind: type) -> set[int]:
    """The connections of that kind that are still in memory, by their ids."""
    gc.collect()
    return {id(one) for one in gc.get_objects() if isinstance(one, kind)}


@pytest.mark.slow
def test_nothing_is_kept_of_connections_that_are_gone(database_with_orders, app):
    before = _kept(own_connection.OwnConnection)
    for _ in range(5):
        app.submit(queue_key="q")
        cut_all(database_with_orders)
    app.submit(queue_key="q")

    assert len(_kept(own_connection.OwnConnection) - before) <= 3  # one, and what the pool is about to let go of


@pytest.mark.slow
async def test_nothing_is_kept_of_connections_of_the_async_client_and_of_a_server_that_are_gone(
    database_with_orders, async_app
):
    before = _kept(own_connection.OwnAsyncConnection)
    await async_app.submit(queue_key="q")
    gateway = Gateway(database_with_orders, max_connections=2)
    await gateway.open()
    try:
        for _ in range(5):
            await async_app.submit(queue_key="q")
            assert await gateway.perform_unbound(lambda store: store.clock())
            cut_all(database_with_orders)
        await async_app.submit(queue_key="q")
        await gateway.perform_unbound(lambda store: store.clock())

        assert len(_kept(own_connection.OwnAsyncConnection) - before) <= 3 + 6  # of the client, and of two pools
        assert len(gateway._tenants) <= 6
    finally:
        await gateway.close()


async def test_a_restart_of_the_server_is_not_noticed(make_cluster):
    cluster = make_cluster()
    dsn = cluster.start()
    migrate(dsn)
    with Tenure(dsn) as app:
        async with AsyncTenure(dsn) as async_app:
            app.define_queue("q")
            await async_app.submit(queue_key="q")
            cluster.stop("immediate")
            cluster.start()

            app.submit(queue_key="q")
            await async_app.submit(queue_key="q")

            assert len(app.queue_items("q")) == 3
