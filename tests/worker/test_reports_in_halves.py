"""Many reports at once: over two connections where no claim is under way, and each of them once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from tenure.engine.actions import claim, workers
from tenure.model.errors import Forbidden
from tenure.model.json_text import payload_hash
from tenure.model.requests import ClaimItems, SubmitSubject
from tenure.model.worker import WorkerSpec
from tenure.sdk.token import Token
from tenure.sdk.worker.link import Link
from tenure.sdk.worker.reporting import Reporting
from tenure.store.records import Finish

MANY = 600


class Held:
    """A worker with many leases, and the reports that all of them are done."""

    def __init__(self, app: Any) -> None:
        self.app = app
        app.submit_many([SubmitSubject(queue_key="q", properties={"n": n}) for n in range(MANY)])
        spec = WorkerSpec(worker_key="one", max_concurrent_leases=MANY)
        self.worker = app.perform(lambda caller: workers.register_worker(caller, spec))
        self.token = Token()
        request = ClaimItems(
            worker=self.worker.uid, queue_key="q", token_hash=self.token.digest, limit=MANY, start=True
        )
        self.items = app.perform(lambda caller: claim.claim(caller, request, None)).items

    def batch(self, broken: int | None = None) -> list[Any]:
        """The reports; the one of ``broken`` is of a lease that somebody else holds."""
        digests = {broken: Token().digest}
        return [
            (SimpleNamespace(item=item), Finish(item.lease, digests.get(n, self.token.digest), payload_hash({})))
            for n, item in enumerate(self.items)
        ]

    @asynccontextmanager
    async def reporting(self, *, claiming: bool, beside: str | None = None) -> AsyncIterator[Reporting]:
        """What sends them, over two connections of its own; the one beside may lead elsewhere."""
        dsn = self.app.settings.dsn
        links = [Link(dsn, "one"), Link(beside or dsn, "other")]
        yield Reporting(*links, self.app.caller, self.worker.uid, lambda: None, lambda: claiming)
        for link in links:
            await link.close()

    def transactions(self) -> list[int]:
        """How many were completed by each transaction, the one with the most first."""
        with psycopg.connect(self.app.settings.dsn) as connection:
            found = connection.execute(
                "select count(*) from tenure.fact where type = 'execution.completed' group by xid order by 1 desc"
            )
            return [row[0] for row in found]


@pytest.fixture
def held(app: Any) -> Held:
    return Held(app)


async def test_many_are_written_by_two_connections(held):
    async with held.reporting(claiming=False) as reporting:
        assert await reporting.send(held.batch()) == [None] * MANY
        again = await reporting.send(held.batch())  # as if no answer had come
        assert {outcome.replayed for outcome in again} == {True}

    assert held.transactions() == [MANY // 2, MANY // 2]
    assert held.app.verify().clean


async def test_a_claim_that_is_under_way_keeps_the_database_busy_enough(held):
    async with held.reporting(claiming=True) as reporting:
        assert await reporting.send(held.batch()) == [None] * MANY

    assert held.transactions() == [MANY]


async def test_a_few_are_written_by_one(held):
    async with held.reporting(claiming=False) as reporting:
        assert await reporting.send(held.batch()[:100]) == [None] * 100

    assert held.transactions() == [100]


async def test_one_that_is_refused_keeps_no_other_back(held):
    async with held.reporting(claiming=False) as reporting:
        outcomes = await reporting.send(held.batch(broken=7))

    assert [n for n, outcome in enumerate(outcomes) if outcome is not None] == [7]
    assert isinstance(outcomes[7], Forbidden)
    assert sum(held.transactions()) == MANY - 1


async def test_without_a_second_connection_one_writes_them_all(held):
    async with held.reporting(claiming=False, beside="host=127.0.0.1 port=1 dbname=nowhere") as reporting:
        assert await reporting.send(held.batch()) == [None] * MANY

    assert held.transactions() == [MANY // 2, MANY // 2]
