"""The clients of Python: sync and async, connected to the database or over HTTP, do the same with submissions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tenure import AsyncTenure, Tenure
from tenure.model.errors import TenureError
from tests.remote.border import Border

Make = Callable[[Border], Any]


def connected(border: Border) -> Tenure:
    return border.site.trusted


def over_http(border: Border) -> Tenure:
    return Tenure(url=border.site.server.url, token=border.site.secret("operator", name="service:sdk"))


@pytest.mark.parametrize("make", [connected, over_http])
def test_a_product_submits_looks_and_takes_back(border: Border, make: Make) -> None:
    client: Tenure = make(border)
    border.poll(accepting=0)
    command = border.command()

    accepted = client.submit_job(command)

    assert client.submit_job(command) == accepted
    standing = client.submission(accepted.submission_id)
    assert (standing.projection_state, standing.job_id, standing.executions) == ("queued", command["job_id"], [])
    (work,) = border.poll()["work"]
    border.tell(work, "accepted", "running", scheduler_ref={"slurm_job_id": "7"})
    (execution,) = client.submission(accepted.submission_id).executions
    assert (execution.state, execution.scheduler_ref.slurm_job_id) == ("running", "7")
    canceled = client.cancel_submission(accepted.submission_id, reason="not needed")
    assert canceled.failure == {"code": "canceled", "message": "not needed", "retryable": False}
    told = client.submission_history(accepted.submission_id)
    assert [entry.type for entry in told.entries].count("execution_event.received") == 2
    for refused, code in (
        (lambda: client.submit_job(command | {"job_id": "other"}), "idempotency_conflict"),
        (lambda: client.submission("JX-YGJ24"), "submission_not_found"),
        (lambda: client.cancel_submission(accepted.submission_id), "invalid_transition"),
        (lambda: client.submit_job({"tenant_id": 1}), "invalid_request"),
    ):
        with pytest.raises(TenureError) as error:
            refused()
        assert error.value.code == code


def test_the_async_client_does_the_same(border: Border) -> None:
    async def run() -> list[Any]:
        client = AsyncTenure(
            border.site.server.settings.dsn, tenant=border.site.tenant, clock=border.site.server.settings.clock
        )
        try:
            await client.poll_node(border.node, {"agent_id": border.agent_id})
            accepted = await client.submit_job(border.command())
            (work,) = (await client.poll_node(border.node, {"agent_id": border.agent_id, "accepting": 1})).work
            outcomes = await client.receive_events([border.event(work.wire(), "accepted")])
            listed = await client.submissions(node=border.node, projection_state="queued")
            nodes = [node.node for node in await client.nodes()]
            return [accepted.submission_id, outcomes[0].outcome, [s.submission_id for s in listed], nodes]  # type: ignore[union-attr]
        finally:
            await client.close()

    submission_id, outcome, listed, nodes = asyncio.run(run())
    assert (outcome, listed, nodes) == ("applied", [submission_id], [border.node])
