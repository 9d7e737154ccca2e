"""A migration gives tables columns under a worker at work: it stays, and nothing is lost or done twice."""

from __future__ import annotations

import asyncio
from datetime import datetime

import psycopg
import pytest

from tenure import Job, Tenure
from tenure.sdk.outcomes import Retry
from tests.waiting import until_async
from tests.worker.conftest import states, working

TABLES = ("worker", "execution", "queue", "attempt", "subject", "fact", "dead_letter")


@pytest.fixture(params=["database", "http"])
def transport(request) -> str:
    return request.param


def grow(app: Tenure, name: str) -> None:
    """Give tables a column each, as a migration does."""
    with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
        for table in TABLES:
            connection.execute(f"alter table tenure.{table} add column {name} text")


def beat_at(app: Tenure) -> datetime:
    """When a worker was last heard of."""
    with psycopg.connect(app.settings.dsn) as connection:
        return connection.execute("select max(heartbeat_at) from tenure.worker").fetchone()[0]


async def beaten(app: Tenure) -> None:
    """Wait until a worker is heard of again."""
    before = await asyncio.to_thread(beat_at, app)
    await until_async(lambda: beat_at(app) > before)


async def test_work_goes_on_while_tables_get_columns_again_and_again(app):
    ran = []

    @app.task(queue="q", max_attempts=2)
    async def work(number: int, job: Job) -> int:
        ran.append(number)
        await asyncio.sleep(0.001)
        if number % 10 == 0 and job.attempt_number == 1:
            raise Retry("once more")
        return number

    async with working(
        app, heartbeat_ttl_seconds=1, lease_ttl_seconds=60, concurrency=5, prefetch=15, batch=10
    ) as worker:
        for pass_ in range(3):
            await beaten(app)
            await asyncio.to_thread(app.submit_many, [work.request(n) for n in range(200)])
            await until_async(lambda pass_=pass_: len(ran) >= pass_ * 220 + 50)
            await asyncio.to_thread(grow, app, f"later_{pass_}")
        await until_async(lambda: states(app) == {"COMPLETED": 600})
        await beaten(app)
        report = worker.report()

    assert len(ran) == 660
    assert (report["completed"], report["lost"], report["refused"]) == (600, 0, 0)
    with Tenure(app.settings.dsn) as reading:
        assert reading.leases() == []
        assert reading.dead_letters() == []
        assert reading.verify().clean
