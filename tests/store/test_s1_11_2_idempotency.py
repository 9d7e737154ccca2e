"""S1 section 11.2: idempotency."""

from __future__ import annotations

import pytest

from tenure.model.errors import IdempotencyConflict
from tenure.model.states import RecordStatus
from tenure.testing.store_contract.dump import state_of
from tests.store.harness import Bench


def test_retry_idempotency(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    held = bench.run_it(bench.worker())

    first = bench.fail(held, retryable=True, idempotency_key="fail-1")
    second = bench.fail(held, retryable=True, idempotency_key="fail-1")

    assert bench.envelope(subject).attempt_count == 1
    assert [a.record_status for a in bench.thread(subject).attempts.values()] == [RecordStatus.FAILED_RETRYABLE]
    assert bench.types(subject).count("execution.failed") == 1
    assert (second.replayed, second.as_dict()) == (True, first.as_dict())


def test_payload_hash_conflict(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject()
    held = bench.run_it(bench.worker())
    bench.fail(held, retryable=True, idempotency_key="fail-1")
    before = state_of(bench)

    with pytest.raises(IdempotencyConflict):
        bench.fail(held, retryable=False, idempotency_key="fail-1")

    assert state_of(bench) == before


def test_payload_hash_conflict_is_the_same_each_time(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    bench.hold(subject, reason="broken seal", idempotency_key="hold-1")

    first = bench.error(bench.hold, subject, reason="another", idempotency_key="hold-1")
    second = bench.error(bench.hold, subject, reason="another", idempotency_key="hold-1")

    assert first.as_dict() == second.as_dict()


@pytest.mark.parametrize("key", [None, "complete-1"], ids=["by the lease", "by a key"])
def test_completion_replay(bench: Bench, key: str | None) -> None:
    bench.define_queue("q")
    bench.subject()
    held = bench.run_it(bench.worker())
    first = bench.complete(held, result={"files": 3}, idempotency_key=key)
    before = state_of(bench)
    bench.later(5)

    second = bench.complete(held, result={"files": 3}, idempotency_key=key)

    assert (second.replayed, second.as_dict()) == (True, first.as_dict())
    bench.later(-5)
    assert state_of(bench) == before
