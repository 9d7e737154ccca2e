"""S1 section 11.6: failures."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from tenure.model.errors import LeaseExpired, StaleLease, StateConflict
from tenure.model.fact_types import REGISTRY
from tenure.model.states import State
from tenure.testing.store_contract.dump import state_of
from tests.store.harness import Bench, bench_on


def test_invalid_transition_blocked(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    before = state_of(bench)

    with pytest.raises(StateConflict) as refused:
        bench.cancel(subject, expected_state=State.RUNNING)

    assert refused.value.evidence == {"expected": "RUNNING", "actual": "READY"}
    assert state_of(bench) == before


def test_renew_expired_lease_blocked(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    bench.subject()
    held = bench.run_it(bench.worker())
    bench.later(60)
    before = state_of(bench)

    assert isinstance(bench.error(bench.renew, held), LeaseExpired)
    assert isinstance(bench.error(bench.complete, held), LeaseExpired)

    assert state_of(bench) == before


def test_sweeper_idempotency(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    bench.subject()
    held = bench.run_it(bench.worker())
    bench.later(61)
    first = bench.expire_lease(held.lease)
    before = state_of(bench)

    second = bench.expire_lease(held.lease)

    assert (second.replayed, second.as_dict()) == (True, first.as_dict())
    assert bench.sweep() == []
    assert state_of(bench) == before


def test_lease_that_ended_otherwise_cannot_be_expired(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject()
    held = bench.run_it(bench.worker())
    bench.complete(held)

    assert isinstance(bench.error(bench.expire_lease, held.lease, force=True), StaleLease)


def test_no_hidden_direct_writes(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    worker = bench.worker()
    held = bench.take(worker)
    bench.start(held)
    bench.renew(held)
    bench.fail(held, retryable=True, retry_after_seconds=0)
    bench.hold(subject, reason="look at it")
    bench.release_hold(subject)
    bench.requeue(subject)
    bench.release_lease(bench.take(worker))
    bench.cancel(subject)

    actions = [REGISTRY[kind].action for kind in bench.types(subject)]

    assert actions == [
        "submit_subject", "claim_queue_item", "start_execution", "renew_queue_lease", "fail_queue_execution",
        "place_execution_hold", "release_execution_hold", "requeue_subject", "claim_queue_item", "release_queue_lease",
        "cancel_subject_execution",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        "update tenure.execution set priority = 9",
        "update tenure.execution set state = 'COMPLETED', revision = revision + 1, seq = seq + 1",
        "update tenure.execution set next_queue_key = null",
        "delete from tenure.execution",
        "update tenure.fact set actor = 'nobody'",
        "delete from tenure.attempt",
    ],
)
def test_direct_write_is_refused_by_the_database(shared_connection: psycopg.Connection[Any], change: str) -> None:
    bench = bench_on(shared_connection, "direct")
    bench.define_queue("q")
    bench.subject()
    bench.take(bench.worker())

    with pytest.raises(psycopg.Error) as refused:
        shared_connection.execute(change)  # type: ignore[arg-type]

    assert str(refused.value.sqlstate).startswith("TN")
