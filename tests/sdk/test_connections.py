"""The connection that is at hand: it never keeps others waiting, and never grows old or stays broken."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from psycopg.pq import TransactionStatus

from tenure import AsyncTenure, Tenure
from tenure.sdk import connections as module
from tenure.sdk.connections import AsyncConnections, Connections


@pytest.fixture
def connections(database_with_orders: str):
    made = Connections(database_with_orders, 1)
    made.open()
    yield made
    made.close()


@pytest.fixture
async def async_connections(database_with_orders: str):
    made = AsyncConnections(database_with_orders, 1)
    await made.open()
    yield made
    await made.close()


def test_threads_that_share_one_connection_all_get_it(database_with_orders):
    with Tenure(database_with_orders, max_connections=1) as app, ThreadPoolExecutor(8) as threads:
        app.define_queue("q")
        done = list(threads.map(lambda n: app.submit(queue_key="q", properties={"n": n}), range(80), timeout=25))

        assert len({result.subject for result in done}) == 80


async def test_calls_at_once_that_share_one_connection_all_get_it(database_with_orders):
    async with AsyncTenure(database_with_orders, max_connections=1) as app:
        await app.define_queue("q")
        calls = (app.submit(queue_key="q", properties={"n": n}) for n in range(80))
        done = await asyncio.wait_for(asyncio.gather(*calls), 25)

        assert len({result.subject for result in done}) == 80


def test_the_connection_that_was_used_last_is_used_again(connections):
    first = connections.take()
    connections.give(first)

    again = connections.take()
    connections.give(again)
    assert again is first


async def test_the_connection_that_was_used_last_is_used_again_by_a_loop(async_connections):
    first = await async_connections.take()
    await async_connections.give(first)

    again = await async_connections.take()
    await async_connections.give(again)
    assert again is first


def test_what_was_left_open_is_rolled_back(connections):
    connection = connections.take()
    connection.execute("begin")
    connections.give(connection)

    again = connections.take()
    assert again.info.transaction_status == TransactionStatus.IDLE
    connections.give(again)


async def test_what_was_left_open_by_a_loop_is_rolled_back(async_connections):
    connection = await async_connections.take()
    await connection.execute("begin")
    await async_connections.give(connection)

    again = await async_connections.take()
    assert again.info.transaction_status == TransactionStatus.IDLE
    await async_connections.give(again)


def test_one_that_has_been_away_from_its_pool_for_long_goes_back(connections, monkeypatch):
    connection = connections.take()
    monkeypatch.setattr(module, "_LEAVE", 0.0)
    connections.give(connection)

    assert connections.in_pool == 1


async def test_one_of_a_loop_that_has_been_away_for_long_goes_back(async_connections, monkeypatch):
    connection = await async_connections.take()
    monkeypatch.setattr(module, "_LEAVE", 0.0)
    await async_connections.give(connection)

    assert async_connections.in_pool == 1


def test_threads_that_share_a_transaction_each_get_their_own_answers(database_with_orders):
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that they come between each other wherever they can
    try:
        with Tenure(database_with_orders) as app, ThreadPoolExecutor(8) as threads:
            app.define_queue("q")
            with app.transaction() as tx:
                refs = [f"r{n}" for n in range(400)]
                done = list(threads.map(lambda ref: tx.submit(queue_key="q", properties={"ref": ref}).subject, refs))
            kept = [app.history(uid).subject.properties["ref"] for uid in done]
    finally:
        sys.setswitchinterval(before)

    assert kept == refs


async def test_calls_at_once_within_a_transaction_each_get_their_own_answers(database_with_orders):
    async with AsyncTenure(database_with_orders) as app:
        await app.define_queue("q")
        refs = [f"r{n}" for n in range(200)]
        async with app.transaction() as tx:
            done = await asyncio.gather(*(tx.submit(queue_key="q", properties={"ref": ref}) for ref in refs))

        assert [(await app.history(result.subject)).subject.properties["ref"] for result in done] == refs
