"""Every action under an idempotency key: again the same bytes, or a conflict that changes nothing (S1 section 7.3)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tenure.model.errors import IdempotencyConflict
from tenure.testing.store_contract.bench import Bench
from tenure.testing.store_contract.dump import state_of

#: The action under a key; ``other`` makes its payload another one.
Act = Callable[[str, bool], Any]


def submit(bench: Bench) -> Act:
    return lambda key, other: bench.submit(queue_key="q", idempotency_key=key, properties={"other": other})


def start(bench: Bench) -> Act:
    bench.subject()
    lease = bench.take(bench.worker())
    return lambda key, other: bench.start(lease, idempotency_key=key)


def renew(bench: Bench) -> Act:
    bench.subject()
    lease = bench.run_it(bench.worker())
    return lambda key, other: bench.renew(lease, idempotency_key=key, ttl_seconds=2000 + other)


def dispatch(bench: Bench) -> Act:
    bench.subject()
    lease = bench.run_it(bench.worker())
    return lambda key, other: bench.dispatch_external(lease, idempotency_key=key, external_ref=f"slurm:{other}")


def release(bench: Bench) -> Act:
    bench.subject()
    lease = bench.run_it(bench.worker())
    return lambda key, other: bench.release_lease(lease, idempotency_key=key, reason=f"reason {other}")


def defer(bench: Bench) -> Act:
    bench.subject()
    lease = bench.run_it(bench.worker())
    until = bench.in_seconds(60)
    return lambda key, other: bench.defer(
        lease, idempotency_key=key, until=until if not other else bench.in_seconds(61)
    )


def complete(bench: Bench) -> Act:
    bench.subject()
    lease = bench.run_it(bench.worker())
    return lambda key, other: bench.complete(lease, idempotency_key=key, result={"other": other})


def fail(bench: Bench) -> Act:
    bench.subject()
    lease = bench.run_it(bench.worker())
    return lambda key, other: bench.fail(lease, idempotency_key=key, retryable=not other)


def hold(bench: Bench) -> Act:
    subject = bench.subject()
    return lambda key, other: bench.hold(subject, idempotency_key=key, reason=f"reason {other}")


def release_hold(bench: Bench) -> Act:
    subject = bench.subject()
    bench.hold(subject, reason="broken seal")
    return lambda key, other: bench.release_hold(subject, idempotency_key=key, reason=f"reason {other}")


def requeue(bench: Bench) -> Act:
    subject = bench.subject()
    return lambda key, other: bench.requeue(subject, idempotency_key=key, priority=1 + other)


def cancel(bench: Bench) -> Act:
    subject = bench.subject()
    return lambda key, other: bench.cancel(subject, idempotency_key=key, reason=f"reason {other}")


def resolve(bench: Bench) -> Act:
    subject = bench.subject()
    bench.fail(bench.run_it(bench.worker()), retryable=False)
    return lambda key, other: bench.resolve_dead_letter(subject, idempotency_key=key, reason=f"reason {other}")


def expire(bench: Bench) -> Act:
    bench.subject()
    lease = bench.run_it(bench.worker())
    return lambda key, other: bench.expire_lease(lease.lease, idempotency_key=key, force=True, reason=f"reason {other}")


ALL = (
    submit, start, renew, dispatch, release, defer, complete, fail, hold, release_hold, requeue, cancel, resolve, expire,
)  # fmt: skip
WITH_PAYLOAD = [action for action in ALL if action is not start]


def name(action: Callable[..., Any]) -> str:
    return action.__name__


@pytest.mark.parametrize("arrange", ALL, ids=name)
def test_same_key_gives_the_same_answer_and_changes_nothing(bench: Bench, arrange: Callable[[Bench], Act]) -> None:
    bench.define_queue("q")
    act = arrange(bench)
    first = act("key", False)
    before = state_of(bench)

    again = act("key", False)

    assert (first.replayed, again.replayed) == (False, True)
    assert again.as_dict() == first.as_dict()
    assert state_of(bench) == before


@pytest.mark.parametrize("arrange", ALL, ids=name)
def test_same_key_gives_the_same_answer_after_the_subject_has_moved_on(
    bench: Bench, arrange: Callable[[Bench], Act]
) -> None:
    bench.define_queue("q")
    act = arrange(bench)
    first = act("key", False)
    if bench.envelope(first.subject).state != "HELD":
        bench.requeue(first.subject, reopen=True, priority=7)
    bench.hold(first.subject, reason="later")
    bench.later(3600)

    assert act("key", False).as_dict() == first.as_dict()


@pytest.mark.parametrize("arrange", WITH_PAYLOAD, ids=name)
def test_same_key_with_another_payload_is_a_conflict_and_changes_nothing(
    bench: Bench, arrange: Callable[[Bench], Act]
) -> None:
    bench.define_queue("q")
    act = arrange(bench)
    act("key", False)
    before = state_of(bench)

    with pytest.raises(IdempotencyConflict) as refused:
        act("key", True)

    assert refused.value.evidence["idempotency_key"] == "key"
    assert state_of(bench) == before


@pytest.mark.parametrize("arrange", [hold, requeue], ids=name)
def test_key_belongs_to_one_subject(bench: Bench, arrange: Callable[[Bench], Act]) -> None:
    bench.define_queue("q")
    first = arrange(bench)("key", False)

    second = arrange(bench)("key", False)

    assert not second.replayed
    assert first.subject != second.subject


def test_retried_claim_returns_the_same_leases(bench: Bench) -> None:
    bench.define_queue("q")
    worker = bench.worker()
    for _ in range(3):
        bench.subject()
    first = bench.claim_outcome(worker, limit=2, idempotency_key="claim-1")
    before = state_of(bench)
    bench.later(1)

    again = bench.claim_outcome(worker, limit=2, idempotency_key="claim-1")

    bench.later(-1)
    assert (first.replayed, again.replayed) == (False, True)
    assert [replace(item, order=None) for item in first.items] == again.items
    assert state_of(bench) == before


def test_retried_claim_is_answered_as_it_was_after_the_priority_changed(bench: Bench) -> None:
    bench.define_queue("q")
    worker = bench.worker()
    subject = bench.subject(priority=2)
    first = bench.claim_outcome(worker, idempotency_key="claim-1")

    bench.requeue(subject, priority=9)

    assert [replace(item, order=None) for item in first.items] == bench.claim_outcome(
        worker, idempotency_key="claim-1"
    ).items


def test_retried_claim_of_one_subject_returns_the_same_lease(bench: Bench) -> None:
    bench.define_queue("q")
    worker, subject = bench.worker(), bench.subject()
    first = bench.claim_outcome(worker, subject=subject, idempotency_key="claim-1")

    assert bench.claim_outcome(worker, subject=subject, idempotency_key="claim-1").items == [
        replace(first.items[0], order=None)
    ]


def test_claim_under_a_used_key_with_another_payload_is_a_conflict_and_changes_nothing(bench: Bench) -> None:
    bench.define_queue("q")
    worker = bench.worker()
    bench.subject()
    bench.subject()
    bench.claim_outcome(worker, idempotency_key="claim-1")
    before = state_of(bench)

    with pytest.raises(IdempotencyConflict):
        bench.claim_outcome(worker, limit=2, idempotency_key="claim-1")

    assert state_of(bench) == before


def test_claim_under_a_key_needs_the_token_that_its_leases_will_have(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject()
    before = state_of(bench)

    refused = bench.error(bench.claim, bench.worker(), "q", idempotency_key="claim-1")

    assert (refused.code, state_of(bench)["threads"]) == ("invalid_request", before["threads"])


def test_empty_claim_keeps_no_key(bench: Bench) -> None:
    bench.define_queue("q")
    worker = bench.worker()
    assert bench.claim_outcome(worker, idempotency_key="claim-1").items == []

    subject = bench.subject()

    assert [item.subject for item in bench.claim_outcome(worker, idempotency_key="claim-1").items] == [subject]


def test_same_submission_twice_in_one_set_creates_one_subject(bench: Bench) -> None:
    bench.define_queue("q")
    one = {"queue_key": "q", "idempotency_key": "key", "properties": {"n": 1}}

    first, second = bench.submit_many([one, one])

    assert (first.replayed, second.replayed, first.subject) == (False, True, second.subject)


def test_submission_is_answered_from_before_after_its_queue_was_retired(bench: Bench) -> None:
    bench.define_queue("q")
    first = bench.submit(queue_key="q", idempotency_key="key")
    bench.retire_queue("q", reason="replaced")

    assert bench.submit(queue_key="q", idempotency_key="key").as_dict() == first.as_dict()


def test_same_definition_of_a_queue_again_changes_nothing(bench: Bench) -> None:
    first = bench.define_queue("q", max_attempts_default=2)
    before = state_of(bench)

    assert bench.define_queue("q", max_attempts_default=2) == first
    assert state_of(bench) == before


@pytest.mark.parametrize("action", ["drain_worker", "disable_worker", "enable_worker", "retire_worker"])
def test_status_of_a_worker_is_changed_once_under_one_key(bench: Bench, action: str) -> None:
    worker = bench.worker()
    first = getattr(bench, action)(worker, reason="cleaning", idempotency_key="key")

    again = getattr(bench, action)(worker, reason="cleaning", idempotency_key="key")

    assert (again.revision, again.status) == (first.revision, first.status)


@pytest.mark.parametrize("action", ["drain_worker", "disable_worker", "enable_worker", "retire_worker"])
def test_status_of_a_worker_under_a_used_key_with_another_reason_is_a_conflict(bench: Bench, action: str) -> None:
    worker = bench.worker()
    getattr(bench, action)(worker, reason="cleaning", idempotency_key="key")
    before = state_of(bench)

    assert (
        bench.error(getattr(bench, action), worker, reason="repair", idempotency_key="key").code
        == "idempotency_conflict"
    )
    assert state_of(bench) == before


def test_policy_is_changed_once_under_one_key(bench: Bench) -> None:
    bench.define_queue("q")
    first = bench.update_queue_policy("q", lease_ttl_seconds=5, idempotency_key="key")
    bench.update_queue_policy("q", lease_ttl_seconds=6)

    bench.update_queue_policy("q", lease_ttl_seconds=5, idempotency_key="key")

    assert (first.lease_ttl_seconds, bench.queue("q").lease_ttl_seconds) == (5, 6)


def test_policy_under_a_used_key_with_other_changes_is_a_conflict(bench: Bench) -> None:
    bench.define_queue("q")
    bench.update_queue_policy("q", lease_ttl_seconds=5, idempotency_key="key")
    before = state_of(bench)

    refused = bench.error(bench.update_queue_policy, "q", lease_ttl_seconds=7, idempotency_key="key")

    assert (refused.code, state_of(bench)) == ("idempotency_conflict", before)


def test_worker_is_registered_once_under_one_key_and_each_gets_its_own_incarnation(bench: Bench) -> None:
    first = bench.register_worker("w", capabilities=["a"], idempotency_key="first")
    other = bench.register_worker("w", capabilities=["b"], idempotency_key="second")
    before = state_of(bench)

    again = bench.register_worker("w", capabilities=["a"], idempotency_key="first")

    assert (again.uid, again.incarnation, other.incarnation) == (first.uid, first.incarnation, first.incarnation + 1)
    assert state_of(bench) == before
    assert bench.error(bench.heartbeat_worker, again, incarnation=again.incarnation).code == "worker_superseded"


def test_registration_under_a_used_key_with_another_specification_is_a_conflict(bench: Bench) -> None:
    bench.register_worker("w", capabilities=["a"], idempotency_key="key")
    before = state_of(bench)

    refused = bench.error(bench.register_worker, "w", capabilities=["b"], idempotency_key="key")

    assert (refused.code, state_of(bench)) == ("idempotency_conflict", before)


def test_queue_is_retired_once_under_one_key_and_its_replacement_is_left_alone(bench: Bench) -> None:
    bench.define_queue("q")
    first = bench.retire_queue("q", reason="moved", idempotency_key="key")
    assert bench.retire_queue("q", reason="moved", idempotency_key="key") == first
    bench.define_queue("q", lease_ttl_seconds=5)
    before = state_of(bench)

    again = bench.retire_queue("q", reason="moved", idempotency_key="key")

    assert (again, state_of(bench)) == (first, before)
    assert bench.queue("q").retired_at is None


def test_retirement_under_a_used_key_with_another_reason_is_a_conflict(bench: Bench) -> None:
    bench.define_queue("q")
    bench.retire_queue("q", reason="moved", idempotency_key="key")
    bench.define_queue("q")
    before = state_of(bench)

    refused = bench.error(bench.retire_queue, "q", reason="gone", idempotency_key="key")

    assert (refused.code, state_of(bench)) == ("idempotency_conflict", before)


def test_template_is_the_same_however_often_it_is_defined(bench: Bench) -> None:
    first = bench.define_template("content/material/tube/1.0", {"type": "object"})
    before = state_of(bench)

    again = bench.define_template("content/material/tube/1.0", {"type": "object"})
    refused = bench.error(bench.define_template, "content/material/tube/1.0", {"type": "array"})

    assert (again, refused.code, state_of(bench)) == (first, "already_exists", before)
