"""What is wrong with a request is told by a stable code and a sentence, and nothing is changed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from tenure.model.euid import SUBJECT, format_euid
from tenure.sdk.token import Token
from tenure.testing.store_contract.bench import Bench
from tenure.testing.store_contract.dump import state_of

SCHEMA = {"type": "object", "properties": {"volume": {"type": "number", "minimum": 0}}, "required": ["volume"]}


@pytest.fixture
def lab(bench: Bench) -> Bench:
    bench.define_queue("q")
    bench.define_queue("specimens", subject_template_codes=("specimen/1.0",))
    bench.define_template("strict/1.0", SCHEMA)
    bench.submit(queue_key="q", name="known", idempotency_key="known")
    bench.submit(queue_key="q", name="busy", priority=5)
    return bench


def known(lab: Bench) -> int:
    subject: int = lab.visible()[-1]
    return subject


def mistyped(lab: Bench) -> str:
    right = format_euid(SUBJECT, known(lab))
    return right[:-1] + ("0" if right[-1] != "0" else "1")


NAIVE = datetime(2026, 1, 5, 12)  # noqa: DTZ001 - that it has no zone is the point
REQUESTS: dict[str, tuple[str, int, Callable[[Bench], Any]]] = {
    "unknown queue": ("queue_unknown", 404, lambda b: b.submit(queue_key="nowhere")),
    "unknown template": ("not_found", 404, lambda b: b.submit(queue_key="q", template="nothing/1.0")),
    "template that the queue does not serve": ("template_not_served", 422, lambda b: b.submit(queue_key="specimens")),
    "properties that break the schema": (
        "invalid_payload", 422, lambda b: b.submit(template="strict/1.0", properties={"volume": -1}),
    ),
    "properties that lack what the schema requires": ("invalid_payload", 422, lambda b: b.submit(template="strict/1.0")),
    "properties that are no JSON": (
        "invalid_payload", 422, lambda b: b.submit(queue_key="q", properties={"when": object()}),
    ),
    "properties with NaN": ("invalid_payload", 422, lambda b: b.submit(queue_key="q", properties={"v": float("nan")})),
    "properties with NUL": ("invalid_payload", 422, lambda b: b.submit(queue_key="q", properties={"v": "a\0b"})),
    "properties with a lone surrogate": (
        "invalid_payload", 422, lambda b: b.submit(queue_key="q", properties={"v": "\ud800"}),
    ),
    "properties with keys that are no text": ("invalid_request", 400, lambda b: b.submit(queue_key="q", properties={1: 2})),
    "naive datetime": ("naive_datetime", 400, lambda b: b.submit(queue_key="q", ready_at=NAIVE)),
    "naive due date": ("naive_datetime", 400, lambda b: b.submit(queue_key="q", due_at=NAIVE)),
    "naive requeue": ("naive_datetime", 400, lambda b: b.requeue(known(b), ready_at=NAIVE)),
    "priority above the range": ("invalid_request", 400, lambda b: b.submit(queue_key="q", priority=32768)),
    "priority below the range": ("invalid_request", 400, lambda b: b.submit(queue_key="q", priority=-32769)),
    "no slots": ("invalid_request", 400, lambda b: b.submit(queue_key="q", slots=0)),
    "no attempts": ("invalid_request", 400, lambda b: b.submit(queue_key="q", max_attempts=0)),
    "field that does not exist": ("invalid_request", 400, lambda b: b.submit(queue_key="q", urgency=3)),
    "key of control characters": ("invalid_request", 400, lambda b: b.submit(queue_key="q", idempotency_key="a\nb")),
    "empty name": ("invalid_request", 400, lambda b: b.submit(queue_key="q", name="  ")),
    "queue key with blanks": ("invalid_request", 400, lambda b: b.define_queue("a queue")),
    "queue without templates": ("invalid_request", 400, lambda b: b.define_queue("empty", subject_template_codes=())),
    "queue with an impossible state": (
        "invalid_request", 400, lambda b: b.define_queue("odd", eligible_states=("RUNNING",)),
    ),
    "queue that never ends a lease": ("invalid_request", 400, lambda b: b.define_queue("odd", lease_ttl_seconds=0)),
    "change of a queue's templates": (
        "invalid_request", 400, lambda b: b.update_queue_policy("q", subject_template_codes=["x/1.0"]),
    ),
    "policy that makes a fact too large": (
        "payload_too_large", 413,
        lambda b: b.update_queue_policy("q", required_worker_capabilities=[f"{n:0>200}" for n in range(60)]),
    ),
    "change of a queue's key": ("invalid_request", 400, lambda b: b.perform(rename, "q")),
    "change of an unknown queue": ("queue_unknown", 404, lambda b: b.update_queue_policy("nowhere", enabled=False)),
    "another definition of a queue": ("already_exists", 409, lambda b: b.define_queue("q", lease_ttl_seconds=5)),
    "another schema of a template": ("already_exists", 409, lambda b: b.define_template("strict/1.0", {})),
    "schema that is none": ("invalid_request", 400, lambda b: b.define_template("odd/1.0", {"type": "nothing"})),
    "second submission with the same key": (
        "idempotency_conflict", 409, lambda b: b.submit(queue_key="q", name="another", idempotency_key="known"),
    ),
    "EUID with a wrong check character": ("invalid_euid", 400, lambda b: b.cancel(mistyped(b))),
    "EUID of nothing": ("not_found", 404, lambda b: b.cancel(format_euid(SUBJECT, 2**50))),
    "no EUID at all": ("invalid_euid", 400, lambda b: b.cancel("tube 7")),
    "uid that is a truth value": ("invalid_euid", 400, lambda b: b.cancel(True)),
    "hold without a reason": ("invalid_request", 400, lambda b: b.hold(known(b), reason="")),
    "hold with a reason too long": ("invalid_request", 400, lambda b: b.hold(known(b), reason="x" * 2001)),
    "release of a hold that is not there": ("invalid_transition", 409, lambda b: b.release_hold(known(b))),
    "requeue to an unknown queue": ("queue_unknown", 404, lambda b: b.requeue(known(b), queue_key="nowhere")),
    "requeue to a queue for others": ("template_not_served", 422, lambda b: b.requeue(known(b), queue_key="specimens")),
    "claim by an unknown worker": ("not_found", 404, lambda b: b.claim(b.worker().model_copy(update={"uid": 2}), "q")),
    "claim of nothing": ("invalid_request", 400, lambda b: b.claim(b.worker(), "q", limit=0)),
    "claim of too much": ("invalid_request", 400, lambda b: b.claim(b.worker(), "q", limit=10_001)),
    "claim from an unknown queue": ("queue_unknown", 404, lambda b: b.claim(b.worker(), "nowhere")),
    "as of neither": ("invalid_request", 400, lambda b: b.as_of(known(b))),
    "as of before it was": ("not_found", 404, lambda b: b.as_of(known(b), at=b.in_seconds(-60))),
    "parent that does not exist": ("not_found", 404, lambda b: b.submit(queue_key="q", parents=(2**60,))),
}  # fmt: skip


def rename(caller: Any, key: str) -> Any:
    from tenure.engine.actions.queues import update_queue_policy

    return update_queue_policy(caller, key, {"queue_key": "other"})


@pytest.mark.parametrize("name", REQUESTS)
def test_bad_request_is_refused_in_words_and_changes_nothing(lab: Bench, name: str) -> None:
    code, status, ask = REQUESTS[name]
    lab.worker()
    before = state_of(lab)
    registered = lab.workers_all()

    refused = lab.error(ask, lab)

    assert (refused.code, refused.status) == (code, status)
    assert refused.message[-1] in ".:" and refused.hint.endswith("."), str(refused)
    after = state_of(lab)
    if lab.workers_all() != registered:
        # The request itself had to register the worker that claims.
        after["workers"], after["owners"] = before["workers"], before["owners"]
    assert after == before


UNDER_LEASE: dict[str, tuple[str, Callable[[Bench, Any], Any]]] = {
    "token of somebody else": ("forbidden", lambda b, held: b.complete(held.lease, worker=held.item.worker, token=Token("x"))),
    "no token": ("forbidden", lambda b, held: b.complete(held.lease, worker=held.item.worker)),
    "no worker": ("invalid_request", lambda b, held: b.complete(held.lease, token=held.token)),
    "result that is no JSON": ("invalid_payload", lambda b, held: b.complete(held, result={"when": object()})),
    "result with infinity": ("invalid_payload", lambda b, held: b.complete(held, result=float("inf"), idempotency_key="k")),
    "unknown next queue": ("queue_unknown", lambda b, held: b.complete(held, next_queue_key="nowhere")),
    "next queue for others": ("template_not_served", lambda b, held: b.complete(held, next_queue_key="specimens")),
    "unknown queue for the retry": ("queue_unknown", lambda b, held: b.fail(held, next_queue_key="nowhere")),
    "unknown error class": ("invalid_request", lambda b, held: b.fail(held, error_class="BAD_LUCK")),
    "retry in the past": ("invalid_request", lambda b, held: b.fail(held, retry_after_seconds=-1)),
    "naive deferral": ("naive_datetime", lambda b, held: b.defer(held, until=NAIVE)),
    "deadline in the past": ("invalid_request", lambda b, held: b.dispatch_external(held, deadline=b.in_seconds(-1))),
    "renewal for no time": ("invalid_request", lambda b, held: b.renew(held, ttl_seconds=0)),
    "output that does not exist": ("not_found", lambda b, held: b.complete(held, outputs=(2**60,))),
}  # fmt: skip


@pytest.mark.parametrize("name", UNDER_LEASE)
def test_bad_request_under_a_lease_is_refused_in_words_and_changes_nothing(lab: Bench, name: str) -> None:
    code, ask = UNDER_LEASE[name]
    held = lab.run_it(lab.worker())
    before = state_of(lab)

    refused = lab.error(ask, lab, held)

    assert refused.code == code
    assert refused.message[-1] in ".:" and refused.hint.endswith("."), str(refused)
    assert state_of(lab) == before


def test_failure_is_reported_whatever_its_message_holds(lab: Bench) -> None:
    held = lab.run_it(lab.worker())

    lab.fail(held, retryable=False, error_message="\x00 \ud800 " + "x" * 200_000)

    (row,) = lab.dead_letters()
    assert row.error_message is not None
    assert row.error_message.startswith("\\x00 \\ud800 x")
    assert len(row.error_message) == 100_000
