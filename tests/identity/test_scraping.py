"""All who scrape at the same time share one count, and a count that failed is not kept (S1 section 9.1)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenure.api.gateway import Gateway
from tenure.api.scraping import Scraping
from tenure.model.errors import StoreUnavailable
from tenure.sdk.client import Tenure
from tests.identity.conftest import Asker


class Counted(Gateway):
    """A gateway that counts what it performs."""

    performed = 0

    async def perform(self, identity: Any, make: Any) -> Any:
        self.performed += 1
        return await super().perform(identity, make)


@pytest.fixture
async def counted(migrated_database: str, gateway: Gateway) -> Any:
    made = Counted(migrated_database, max_connections=2)
    await made.open()
    yield made
    await made.close()


@pytest.mark.parametrize("gateway", ["direct"], indirect=True)
async def test_twenty_who_scrape_at_once_share_one_count(counted: Counted, ours: Tenure, identity_of: Asker) -> None:
    ours.define_queue("q")
    ada = await identity_of(ours, "user:ada", "observer")
    scraping = Scraping(counted, age=0)

    told = await asyncio.gather(*(scraping.counts(ada) for _ in range(20)))

    assert counted.performed == 1
    assert all([each.queue_key for each in counts] == ["q"] for counts in told)
    await scraping.counts(ada)
    assert counted.performed == 2


@pytest.mark.parametrize("gateway", ["direct"], indirect=True)
async def test_who_hangs_up_leaves_the_count_to_the_others(counted: Counted, ours: Tenure, identity_of: Asker) -> None:
    ours.define_queue("q")
    ada = await identity_of(ours, "user:ada", "observer")
    scraping = Scraping(counted, age=0)

    first = asyncio.create_task(scraping.counts(ada))
    await asyncio.sleep(0)
    others = asyncio.create_task(scraping.counts(ada))
    await asyncio.sleep(0)
    first.cancel()

    assert [each.queue_key for each in await others] == ["q"]
    assert counted.performed == 1


@pytest.mark.parametrize("gateway", ["direct"], indirect=True)
async def test_a_count_that_failed_is_made_anew(counted: Counted, ours: Tenure, identity_of: Asker) -> None:
    ours.define_queue("q")
    ada = await identity_of(ours, "user:ada", "observer")
    scraping = Scraping(counted, age=3600)
    perform, counted.perform = counted.perform, _away  # type: ignore[method-assign]
    with pytest.raises(StoreUnavailable):
        await scraping.counts(ada)

    counted.perform = perform  # type: ignore[method-assign]
    assert [each.queue_key for each in await scraping.counts(ada)] == ["q"]


async def _away(*_: Any) -> Any:
    raise StoreUnavailable("The database cannot be reached.", "See that it runs.")
