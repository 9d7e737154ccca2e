"""Both clients: the same actions, the same errors, clear where the database is not what it should be."""

from __future__ import annotations

import asyncio
import inspect
import time

import psycopg
import pytest

from tenure import AsyncTenure, Tenure
from tenure.model.errors import NotFound, StoreUnavailable
from tenure.sdk.actions import Action, Actions
from tenure.testing import MovableClock

NOWHERE = "postgresql://postgres@/x?host=/nonexistent&port=5432"
ACTIONS = sorted(name for name, value in vars(Actions).items() if isinstance(value, Action))


@pytest.mark.parametrize("name", ACTIONS)
async def test_every_action_is_a_call_on_one_client_and_awaitable_on_the_other(name):
    sync, waits = getattr(Tenure(NOWHERE), name), getattr(AsyncTenure(NOWHERE), name)

    coroutine = waits()
    assert inspect.iscoroutine(coroutine)
    coroutine.close()
    assert sync.__name__ == waits.__name__
    assert (sync.__doc__, inspect.signature(sync)) == (waits.__doc__, inspect.signature(waits))
    assert sync.__doc__


def test_the_actions_are_those_of_the_operations():
    assert len(ACTIONS) > 40


async def test_the_async_client_does_what_the_sync_client_does(async_app, app):
    subject = await async_app.submit(queue_key="q", properties={"a": 1})
    worker = await async_app.register_worker("w", max_concurrent_leases=5)
    [lease] = await async_app.claim(worker, "q", start=True)
    result = await async_app.complete(lease, result={"b": 2})

    assert (result.subject, str(result.state)) == (subject.subject, "COMPLETED")
    assert app.history(subject).attempts[0].result == {"b": 2}
    assert [f.type for f in app.facts(subject)] == [f.type for f in await async_app.facts(subject)]
    with pytest.raises(NotFound):
        await async_app.complete(4242, worker=worker, token="x")  # noqa: S106
    assert (await async_app.verify()).clean


async def test_many_first_calls_at_once_share_one_pool(database_with_orders):
    async with AsyncTenure(database_with_orders, max_connections=3) as app:
        await asyncio.gather(*(app.define_queue(f"q{n}") for n in range(20)))

        assert len(await app.queues()) == 20


def test_no_server_is_told_at_once():
    begun = time.monotonic()

    with pytest.raises(StoreUnavailable, match="cannot be reached") as raised:
        Tenure(NOWHERE).queues()

    assert time.monotonic() - begun < 5
    assert raised.value.hint


async def test_no_server_is_told_at_once_by_the_async_client():
    begun = time.monotonic()

    with pytest.raises(StoreUnavailable, match="cannot be reached"):
        await AsyncTenure(NOWHERE).queues()

    assert time.monotonic() - begun < 5


def test_a_database_without_the_schema_says_what_to_run(database):
    with Tenure(database) as app, pytest.raises(StoreUnavailable, match="present schema") as raised:
        app.queues()

    assert "tenure migrate" in raised.value.hint


async def test_a_database_without_the_schema_says_what_to_run_to_the_async_client(database):
    async with AsyncTenure(database) as app:
        with pytest.raises(StoreUnavailable) as raised:
            await app.queues()

    assert "tenure migrate" in raised.value.hint


def test_the_clock_that_was_given_is_the_databases(migrated_database):
    clock = MovableClock()
    with Tenure(migrated_database, clock=clock) as app:
        app.define_queue("q")
        first = app.submit(queue_key="q")
        clock.advance(days=3)
        with app.transaction() as tx:
            second = tx.submit(queue_key="q")

    assert (second.at - first.at).days == 3
    assert second.at == clock.now()


def test_the_environment_fills_in_what_was_not_given(monkeypatch, migrated_database):
    monkeypatch.setenv("TENURE_DSN", migrated_database)
    monkeypatch.setenv("TENURE_TENANT", "lab")
    monkeypatch.setenv("TENURE_ACTOR", "user:grace")
    with Tenure(create_tenant=True) as app:
        queue = app.define_queue("q")
        assert app.facts(queue.uid)[0].actor == "user:grace"

    with Tenure(tenant="other", create_tenant=True) as elsewhere:
        assert elsewhere.queues() == []


async def test_a_mistyped_tenant_is_refused_and_not_made(migrated_database):
    with Tenure(migrated_database, tenant="lab", create_tenant=True) as made:
        made.define_queue("q")
    with Tenure(migrated_database, tenant="lab") as known:
        assert [queue.queue_key for queue in known.queues()] == ["q"]
    with Tenure(migrated_database, tenant="labb") as mistyped, pytest.raises(NotFound, match="no tenant 'labb'"):
        mistyped.submit(queue_key="q")
    async with AsyncTenure(migrated_database, tenant="labb") as mistyped_async:
        with pytest.raises(NotFound, match="no tenant 'labb'"):
            await mistyped_async.queues()
    with psycopg.connect(migrated_database) as connection:
        assert connection.execute("select key from tenure.tenant").fetchall() == [("lab",)]


def test_no_secret_shows_in_a_token_or_a_lease(app):
    app.submit(queue_key="q")
    [lease] = app.claim(app.register_worker("w"), "q")

    assert lease.token.reveal() not in f"{lease!r} {lease.token!r} {lease.token}"
