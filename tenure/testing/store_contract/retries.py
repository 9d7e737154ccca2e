"""Retries: when an attempt is followed by another, and what counts as one."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tenure.model.states import ErrorClass
from tenure.testing.store_contract.bench import Bench


@pytest.mark.parametrize(
    "policy, delays",
    [
        ({"mode": "CONSTANT", "initial_delay_seconds": 7}, [7, 7, 7, 7]),
        ({"mode": "LINEAR", "initial_delay_seconds": 7}, [7, 14, 21, 28]),
        ({"mode": "EXPONENTIAL_BACKOFF", "initial_delay_seconds": 7, "backoff_factor": 3}, [7, 21, 63, 189]),
        ({"mode": "EXPONENTIAL_BACKOFF", "initial_delay_seconds": 7, "max_delay_seconds": 20}, [7, 14, 20, 20]),
    ],
    ids=["constant", "linear", "exponential", "capped"],
)
def test_retry_waits_as_the_policy_says(bench: Bench, policy: dict[str, Any], delays: list[int]) -> None:
    bench.define_queue("q", retry_policy=policy, max_attempts_default=9)
    worker, subject = bench.worker(), bench.subject()

    waited = []
    for _ in delays:
        bench.fail(bench.run_it(worker), retryable=True)
        waited.append((bench.envelope(subject).retry_at - bench.now).total_seconds())
        bench.at(bench.envelope(subject).retry_at)

    assert waited == delays


def test_jitter_shortens_the_delay_and_repeats(bench: Bench) -> None:
    policy = {"mode": "CONSTANT", "initial_delay_seconds": 100, "jitter": 0.5}
    bench.define_queue("q", retry_policy=policy)
    worker = bench.worker()
    subjects = [bench.subject() for _ in range(8)]
    for lease in bench.claim(worker, "q", limit=8, start=True):
        bench.fail(lease, retryable=True)

    delays = [(bench.envelope(subject).retry_at - bench.now).total_seconds() for subject in subjects]

    assert all(50 < delay <= 100 for delay in delays)
    assert len(set(delays)) == 8


def test_retry_is_not_visible_before_its_time(bench: Bench) -> None:
    bench.define_queue("q", retry_policy={"mode": "CONSTANT", "initial_delay_seconds": 10})
    worker, subject = bench.worker(), bench.subject()
    bench.fail(bench.run_it(worker), retryable=True)
    bench.later(9.999999)
    early = bench.visible(), bench.claim(worker, "q")
    bench.later(0.000001)

    assert early == ([], [])
    assert bench.take(worker).subject == subject


def test_handler_may_say_when_to_retry(bench: Bench) -> None:
    bench.define_queue("q")
    subject = bench.subject()

    bench.fail(bench.run_it(bench.worker()), retryable=True, retry_after_seconds=1.5)

    assert bench.envelope(subject).retry_at == bench.now + timedelta(seconds=1.5)


def test_retry_may_go_to_another_queue(bench: Bench) -> None:
    bench.define_queue("q")
    bench.define_queue("slow")
    subject = bench.subject()

    bench.fail(bench.run_it(bench.worker()), retryable=True, retry_after_seconds=0, next_queue_key="slow")

    assert (bench.visible("q"), bench.visible("slow")) == ([], [subject])


def test_deferring_spends_no_attempt(bench: Bench) -> None:
    bench.define_queue("q", max_attempts_default=1)
    worker, subject = bench.worker(), bench.subject()

    bench.defer(bench.run_it(worker), until=bench.in_seconds(60))

    env = bench.envelope(subject)
    assert (env.state, env.attempt_count, env.ready_at, bench.visible()) == ("READY", 0, bench.in_seconds(60), [])
    bench.later(60)
    assert bench.take(worker).item.attempt_number == 1


def test_releasing_spends_no_attempt(bench: Bench) -> None:
    bench.define_queue("q", max_attempts_default=1)
    worker, subject = bench.worker(), bench.subject()

    bench.release_lease(bench.run_it(worker), reason="shutting down")

    assert (bench.state(subject), bench.envelope(subject).attempt_count, bench.visible()) == ("READY", 0, [subject])
    assert bench.last_attempt(subject).release_reason == "shutting down"


def test_new_attempt_makes_a_new_lease_with_the_next_number(bench: Bench) -> None:
    bench.define_queue("q")
    worker, subject = bench.worker(), bench.subject()
    bench.fail(bench.run_it(worker), retryable=True, retry_after_seconds=0)
    bench.fail(bench.run_it(worker), retryable=True, retry_after_seconds=0)

    attempts = sorted(bench.thread(subject).attempts.values(), key=lambda attempt: attempt.uid)

    assert [attempt.attempt_number for attempt in attempts] == [1, 2]


@pytest.mark.parametrize(
    "error_class, state",
    [
        (ErrorClass.TRANSIENT_SYSTEM, "FAILED_RETRYABLE"),
        (ErrorClass.TRANSIENT_DEPENDENCY, "FAILED_RETRYABLE"),
        (ErrorClass.TRANSIENT_CAPACITY, "FAILED_RETRYABLE"),
        (ErrorClass.PERMANENT_INPUT, "FAILED_TERMINAL"),
        (ErrorClass.PERMANENT_STATE, "FAILED_TERMINAL"),
        (ErrorClass.BUSINESS_RULE_HOLD, "HELD"),
        (ErrorClass.OPERATOR_CANCELED, "CANCELED"),
    ],
)
def test_class_of_the_error_decides(bench: Bench, error_class: ErrorClass, state: str) -> None:
    bench.define_queue("q")
    subject = bench.subject()

    bench.fail(bench.run_it(bench.worker()), error_class=error_class, error_code="E7")

    attempt = bench.last_attempt(subject)
    assert bench.state(subject) == state
    assert (attempt.error_class, attempt.error_code) == (error_class, "E7")
    assert attempt.end_state == state
