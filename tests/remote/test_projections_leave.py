"""Projections leave through the ledger: exactly the schema, the same id each time, in order for each job (design 04, 05)."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.ledger.post import Post
from tests.ledger.receiver import Receiver
from tests.remote.border import ERROR, RESULT, SPEC

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas/remote/v1/projection-update.json").read_text("utf-8"))


@pytest.fixture
def post(border_database: str) -> Iterator[Post]:
    made = Post(border_database)
    made.client.define_node("n", **SPEC)
    yield made
    made.close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver() as made:
        yield made


def submitted(post: Post, jobs: int) -> list[Any]:
    """Work that was handed out, one for each job."""
    post.client.poll_node("n", {"agent_id": "a"})
    for number in range(jobs):
        post.client.submit_job({
            "tenant_id": post.tenant, "workspace_id": "ws", "job_id": f"job-{number}", "idempotency_key": f"k-{number}",
            "management_node_id": "n", "execution_profile": {"queue_name": "open"}, "requested_by": {"user_id": "u"},
            "resource_shape": {"cpu": 1, "memory_mib": 1, "walltime_seconds": 1}, "payload_ref": {"input_uri": "s3://in"},
        })  # fmt: skip
    return list(post.client.poll_node("n", {"agent_id": "a", "accepting": jobs}).work)


def tell(post: Post, work: Any, *states: str) -> None:
    joins = work.model_dump(
        include={"tenant_id", "workspace_id", "job_id", "submission_id", "execution_id", "trace_id"}
    )
    wants: dict[str, Any] = {"completed": {"result_ref": RESULT}, "failed": {"error": ERROR, "result_ref": RESULT}}
    outcomes = post.client.receive_events([
        joins | {"event_id": f"{work.execution_id}:{s}", "state": s, "occurred_at": "2026-01-05T12:00:00Z"} | wants.get(s, {})
        for s in states
    ])  # fmt: skip
    assert [str(outcome.outcome) for outcome in outcomes] == ["applied"] * len(states)


def of_jobs(receiver: Receiver) -> dict[str, list[tuple[int, str, str | None]]]:
    found: dict[str, list[tuple[int, str, str | None]]] = defaultdict(list)
    for event in receiver.taken:
        d = event["data"]
        found[d["job_id"]].append((d["projection_round"], d["projection_state"], d.get("source_execution_state")))
    return dict(found)


def test_the_product_gets_each_projection_in_order_for_each_job(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url, types=["projection.updated"])
    one, other, third = submitted(post, 3)
    for works in ([one, other], [third]):
        for work in works:
            tell(post, work, "accepted", "running")
    tell(post, other, "failed")
    tell(post, one, "completed")
    post.client.cancel_submission(third.submission_id, reason="not needed")
    post.client.requeue(post.client.submission(other.submission_id).subject, reopen=True, reason="mended")

    post.drain()

    begin = [(1, "queued", None), (1, "queued", "accepted"), (1, "running", "running")]
    assert of_jobs(receiver) == {
        one.job_id: [*begin, (1, "succeeded", "completed")],
        other.job_id: [*begin, (1, "failed", "failed"), (2, "queued", None)],
        third.job_id: [*begin, (1, "failed", None)],
    }
    for event in receiver.taken:
        jsonschema.Draft202012Validator(SCHEMA).validate(event["data"])
        assert event["id"] == event["data"]["projection_event_id"]
        assert event["type"] == "tenure.projection.updated"
    results = {e["data"]["job_id"]: e["data"].get("result_ref") for e in receiver.taken}
    assert results[one.job_id] == RESULT
    ended = {e["data"]["job_id"]: e["data"].get("result_ref") for e in receiver.taken if "failure" in e["data"]}
    assert ended == {other.job_id: RESULT, third.job_id: None}, "what failed left its output, too"
    failures = [e["data"]["failure"] for e in receiver.taken if "failure" in e["data"]]
    assert {failure["code"] for failure in failures} == {"EXIT_3", "canceled"}


def test_what_is_retried_has_the_same_id_and_nothing_overtakes_it(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url, types=["projection.updated"])
    (work,) = submitted(post, 1)
    tell(post, work, "accepted", "running", "completed")
    refused = iter([503] * 3)
    receiver.answer = lambda event: next(refused, 204)

    post.drain(6, then_seconds=61)

    came = [(each.event["id"], each.status) for each in receiver.came]
    assert [status for _, status in came[:3]] == [503] * 3
    assert len({event_id for event_id, _ in came[:4]}) == 1
    assert of_jobs(receiver) == {
        work.job_id: [
            (1, "queued", None),
            (1, "queued", "accepted"),
            (1, "running", "running"),
            (1, "succeeded", "completed"),
        ]
    }
