"""Who may act under a lease: its holder, with its token, while it lasts (design 01, Fencing)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tenure.model.errors import TenureError
from tenure.sdk.operations import Lease
from tenure.sdk.token import Token
from tenure.testing.store_contract.bench import Bench
from tenure.testing.store_contract.dump import refusals_of, state_of

ACTIONS: dict[str, Callable[..., Any]] = {
    "start": lambda bench, *a, **k: bench.start(*a, **k),
    "renew": lambda bench, *a, **k: bench.renew(*a, **k),
    "complete": lambda bench, *a, **k: bench.complete(*a, **k),
    "fail": lambda bench, *a, **k: bench.fail(*a, error_class="PERMANENT_INPUT", **k),
    "release": lambda bench, *a, **k: bench.release_lease(*a, **k),
    "defer": lambda bench, *a, **k: bench.defer(*a, until=bench.in_seconds(60), **k),
    "dispatch": lambda bench, *a, **k: bench.dispatch_external(*a, **k),
}


def by_another_worker(bench: Bench, lease: Lease) -> dict[str, Any]:
    return {"worker": bench.worker("thief"), "token": lease.token}


def with_another_token(bench: Bench, lease: Lease) -> dict[str, Any]:
    return {"worker": lease.item.worker, "token": Token("guess")}


def after_it_expired(bench: Bench, lease: Lease) -> dict[str, Any]:
    bench.later(900)
    return {}


def after_it_was_swept(bench: Bench, lease: Lease) -> dict[str, Any]:
    bench.later(900)
    bench.sweep()
    return {}


def after_another_took_over(bench: Bench, lease: Lease) -> dict[str, Any]:
    bench.later(901)
    bench.take(bench.worker("next"))
    return {}


def after_a_hold(bench: Bench, lease: Lease) -> dict[str, Any]:
    bench.hold(lease.subject, reason="broken seal")
    return {}


def after_it_was_moved(bench: Bench, lease: Lease) -> dict[str, Any]:
    bench.requeue(lease.subject)
    return {}


def after_it_was_moved_and_taken_again(bench: Bench, lease: Lease) -> dict[str, Any]:
    bench.requeue(lease.subject)
    bench.take(bench.worker("next"))
    return {}


CASES = [
    (by_another_worker, "forbidden"), (with_another_token, "forbidden"), (after_it_expired, "lease_expired"),
    (after_it_was_swept, "lease_expired"), (after_another_took_over, "lease_expired"), (after_a_hold, "stale_lease"),
    (after_it_was_moved, "stale_lease"), (after_it_was_moved_and_taken_again, "stale_lease"),
]  # fmt: skip


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("arrange, code", CASES, ids=[case.__name__ for case, _ in CASES])
def test_action_under_a_lease_that_is_not_held_is_refused_and_noted(
    bench: Bench, action: str, arrange: Callable[[Bench, Lease], dict[str, Any]], code: str
) -> None:
    bench.define_queue("q")
    bench.subject()
    lease = bench.take(bench.worker(), start=action != "start")
    holder = arrange(bench, lease)
    before, noted = state_of(bench), refusals_of(bench)[0]

    refused = bench.error(ACTIONS[action], bench, lease.lease if holder else lease, **holder)

    told = refusals_of(bench)[0]
    assert refused.code == code
    assert state_of(bench) == before
    assert told[: len(noted)] == noted
    assert [row[0] for row in told[len(noted) :]] == [code]


@pytest.mark.parametrize("arrange", [by_another_worker, with_another_token], ids=lambda arrange: arrange.__name__)
@pytest.mark.parametrize("key", [None, "key"], ids=["without a key", "with its key"])
@pytest.mark.parametrize("action", ACTIONS)
def test_action_that_was_done_before_is_told_to_nobody_but_the_holder(
    bench: Bench, action: str, key: str | None, arrange: Callable[[Bench, Lease], dict[str, Any]]
) -> None:
    bench.define_queue("q")
    bench.subject()
    lease = bench.take(bench.worker(), start=action != "start")
    done = ACTIONS[action](bench, lease, idempotency_key=key)
    stranger = arrange(bench, lease)
    before, noted = state_of(bench), refusals_of(bench)[0]

    refused = bench.error(ACTIONS[action], bench, lease.lease, idempotency_key=key, **stranger)

    assert (refused.code, state_of(bench)) == ("forbidden", before)
    assert [row[0] for row in refusals_of(bench)[0][len(noted) :]] == ["forbidden"]
    if key is not None:
        assert ACTIONS[action](bench, lease, idempotency_key=key).seq == done.seq


@pytest.mark.parametrize("holder", [True, False], ids=["the holder", "a guess"])
def test_another_result_under_an_ended_lease_is_a_conflict_for_its_holder_alone(bench: Bench, holder: bool) -> None:
    bench.define_queue("q")
    bench.subject()
    lease = bench.run_it(bench.worker())
    bench.complete(lease, result=1)

    proof = {} if holder else {"worker": lease.item.worker, "token": Token("guess")}
    refused = bench.error(bench.complete, lease if holder else lease.lease, result=2, **proof)

    assert refused.code == ("idempotency_conflict" if holder else "forbidden")


@pytest.mark.parametrize("action", [action for action in ACTIONS if action != "release"])
def test_action_after_the_holder_gave_the_lease_back_is_stale(bench: Bench, action: str) -> None:
    bench.define_queue("q")
    bench.subject()
    lease = bench.take(bench.worker(), start=action != "start")
    bench.release_lease(lease)
    before = state_of(bench)

    refused = bench.error(ACTIONS[action], bench, lease)

    assert (refused.code, state_of(bench)) == ("stale_lease", before)


@pytest.mark.parametrize("action", ACTIONS)
def test_action_under_a_lease_that_never_was_finds_nothing(bench: Bench, action: str) -> None:
    bench.define_queue("q")
    subject = bench.subject()
    before = state_of(bench)

    refused = bench.error(ACTIONS[action], bench, subject, worker=bench.worker(), token=Token("guess"))

    assert refused.code == "not_found"
    assert state_of(bench)["threads"] == before["threads"]


def test_holder_may_act_until_the_very_moment_it_expires(bench: Bench) -> None:
    bench.define_queue("q", lease_ttl_seconds=60)
    subject = bench.subject()
    lease = bench.run_it(bench.worker())
    bench.later(59.999999)

    bench.complete(lease)

    assert bench.state(subject) == "COMPLETED"


def test_every_refusal_says_what_happened_and_what_to_do(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject()
    lease = bench.run_it(bench.worker())
    refusals: list[TenureError] = [
        bench.error(ACTIONS[a], bench, lease.lease, worker=bench.worker("x")) for a in ACTIONS
    ]
    bench.later(900)
    refusals += [bench.error(ACTIONS[a], bench, lease) for a in ACTIONS]

    assert [r for r in refusals if not (r.message.endswith(".") and r.hint.endswith("."))] == []
