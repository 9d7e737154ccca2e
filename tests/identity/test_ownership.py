"""A worker belongs to the principal that registered it: nobody else acts as it through the API (S1 section 10.4)."""

from __future__ import annotations

import psycopg
import pytest

from tenure.api.gateway import Gateway
from tenure.api.ownership import require_own_worker
from tenure.model.errors import Forbidden, NotFound
from tenure.model.principal import Identity
from tenure.model.worker import Worker
from tenure.sdk import operations as ops
from tenure.sdk.client import Tenure
from tests.identity.conftest import Asker


async def register(gateway: Gateway, identity: Identity, key: str = "w") -> Worker:
    return await gateway.perform(identity, lambda caller: ops.register_worker(caller, key))


@pytest.fixture
async def ada(identity_of: Asker, ours: Tenure) -> Identity:
    return await identity_of(ours, "service:ada", "worker_service")


@pytest.fixture
async def bob(identity_of: Asker, ours: Tenure) -> Identity:
    return await identity_of(ours, "service:bob", "admin")


async def test_only_the_owner_acts_as_its_worker_and_registers_it_again(
    gateway: Gateway, ada: Identity, bob: Identity
) -> None:
    worker = await register(gateway, ada)
    assert worker.owner == ada.principal.uid
    await require_own_worker(gateway, ada, worker.uid)
    assert (await register(gateway, ada)).incarnation == 2
    for _ in range(2):  # the second time from memory
        with pytest.raises(Forbidden, match="another principal"):
            await require_own_worker(gateway, bob, worker.uid)
    with pytest.raises(Forbidden, match="another principal"):
        await register(gateway, bob)


async def test_a_process_trusted_with_the_database_takes_over_and_the_owner_stays(
    gateway: Gateway, ada: Identity, ours: Tenure
) -> None:
    worker = await register(gateway, ada)
    assert ours.register_worker("w").owner == ada.principal.uid
    await require_own_worker(gateway, ada, worker.uid)


async def test_a_worker_of_a_trusted_process_is_not_to_be_had_through_the_api(
    gateway: Gateway, ada: Identity, ours: Tenure
) -> None:
    worker = ours.register_worker("inside")
    assert worker.owner is None
    with pytest.raises(Forbidden):
        await require_own_worker(gateway, ada, worker.uid)
    with pytest.raises(Forbidden):
        await register(gateway, ada, "inside")


async def test_another_tenants_worker_is_as_unknown_as_none_even_when_its_owner_was_looked_up(
    gateway: Gateway, ada: Identity, theirs: Tenure, identity_of: Asker
) -> None:
    eve = await identity_of(theirs, "service:eve", "worker_service")
    worker = await register(gateway, ada)
    await require_own_worker(gateway, ada, worker.uid)
    said = set()
    for uid in (worker.uid, worker.uid + 1_000_000):
        with pytest.raises(NotFound) as unknown:
            await require_own_worker(gateway, eve, uid)
        said.add(repr(unknown.value.as_dict()))
    assert len(said) == 1


async def test_the_owner_of_a_worker_never_changes_whoever_writes(
    gateway: Gateway, ada: Identity, migrated_database: str
) -> None:
    await register(gateway, ada)
    with psycopg.connect(migrated_database) as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute("update tenure.worker set owner = null")
    assert refused.value.sqlstate == "TN003"
