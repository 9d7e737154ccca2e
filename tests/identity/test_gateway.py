"""A server's connections: who asks is proved, and only that tenant's rows are seen."""

from __future__ import annotations

import functools

import pytest

from tenure.api.gateway import Gateway
from tenure.engine.authentication import authenticate
from tenure.model.errors import NotFound, Unauthenticated
from tenure.sdk import operations as ops
from tenure.sdk.client import Tenure
from tenure.sdk.token import Token
from tests.identity.conftest import Asker

QUEUE = {"subject_template_codes": ["task/job/1.0"]}


async def test_a_secret_proves_its_identity_to_the_gateway(gateway: Gateway, ours: Tenure, identity_of: Asker) -> None:
    identity = await identity_of(ours, "user:ada", "admin")
    assert (identity.actor, identity.tenant_key) == ("user:ada", "ours")
    with pytest.raises(Unauthenticated):
        await gateway.perform_unbound(lambda store: authenticate(store, Token().digest))


async def test_the_whole_life_of_a_subject_passes_the_wall(
    gateway: Gateway, ours: Tenure, theirs: Tenure, identity_of: Asker
) -> None:
    ada, eve = await identity_of(ours, "user:ada", "admin"), await identity_of(theirs, "user:eve", "admin")

    async def do(operation, *args, **kwargs):
        return await gateway.perform(ada, functools.partial(_call, operation, args, kwargs))

    await do(ops.define_template, "task/job/1.0")
    await do(ops.define_queue, "q", **QUEUE)
    worker = await do(ops.register_worker, "w", max_concurrent_leases=5)
    done = await do(ops.submit, queue_key="q", template="task/job/1.0", properties={"n": 1})
    failed = await do(ops.submit, queue_key="q", template="task/job/1.0")
    held = await do(ops.submit, queue_key="q", template="task/job/1.0")
    first, second = await do(ops.claim, worker, "q", limit=2, start=True)
    await do(ops.renew, first)
    await do(ops.complete, first, result={"ok": True})
    await do(ops.fail, second, retryable=False)
    await do(ops.requeue, failed, reopen=True, reason="again")
    await do(ops.hold, held, reason="look")
    await do(ops.release_hold, held)
    await do(ops.cancel, held, reason="enough")
    await do(ops.update_queue_policy, "q", lease_ttl_seconds=30)
    await do(ops.heartbeat_worker, worker, incarnation=worker.incarnation)
    await do(ops.drain_worker, worker)
    await do(ops.create_principal, "user:bob", roles=["operator"])
    await do(ops.set_password, "user:bob", "a horse, a battery")
    await do(ops.revoke_token, (await do(ops.create_token, "user:bob")).access_token)
    for reading in (ops.why, ops.history, ops.inspect, ops.lineage):
        assert await do(reading, done)
        if reading is not ops.lineage:
            with pytest.raises(NotFound):
                await gateway.perform(eve, functools.partial(_call, reading, (done,), {}))
    assert (await do(ops.metrics))[0].queue_depth == 1
    assert len(await do(ops.leases, None)) == 2
    assert (await do(ops.verify)).clean
    assert await gateway.perform(eve, ops.queues_all) == []
    assert ours.verify().clean


def _call(operation, args, kwargs, caller):
    return operation(caller, *args, **kwargs)
