"""Back-off (S1 sections 2.1 and 8.5)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.model.backoff import retry_delay
from tenure.model.queue import BackoffMode, RetryPolicy


def delays(*failures: int, **policy: Any) -> list[float]:
    policy_ = RetryPolicy(**policy)
    return [retry_delay(policy_, n, subject=1024).total_seconds() for n in failures]


def test_constant_delays_stay_the_same() -> None:
    assert delays(1, 2, 9, mode="CONSTANT", initial_delay_seconds=60) == [60, 60, 60]


def test_linear_delays_grow_by_the_initial_one() -> None:
    assert delays(1, 2, 3, mode="LINEAR", initial_delay_seconds=60) == [60, 120, 180]


def test_exponential_delays_grow_by_the_factor() -> None:
    policy = {"mode": "EXPONENTIAL_BACKOFF", "initial_delay_seconds": 2, "backoff_factor": 3}
    assert delays(1, 2, 3, 4, **policy) == [2, 6, 18, 54]


@pytest.mark.parametrize("mode", list(BackoffMode))
def test_no_delay_is_above_the_maximum(mode: BackoffMode) -> None:
    assert delays(1, 5, 50, mode=mode, initial_delay_seconds=100, max_delay_seconds=90) == [90, 90, 90]


def test_a_great_number_of_failures_gives_the_maximum() -> None:
    policy = {"backoff_factor": 100, "initial_delay_seconds": 1, "max_delay_seconds": 77}
    assert delays(155, 32_000, **policy) == [77, 77]


def test_no_initial_delay_means_no_delay_ever() -> None:
    assert delays(1, 32_000, backoff_factor=100, initial_delay_seconds=0) == [0, 0]


def test_jitter_is_what_it_was_the_last_time() -> None:
    assert delays(1, 2, 3, jitter=1, initial_delay_seconds=100, mode="CONSTANT") == [55.732339, 59.091349, 30.714707]


policies = st.builds(
    RetryPolicy, mode=st.sampled_from(BackoffMode), initial_delay_seconds=st.floats(0, 1e5),
    backoff_factor=st.floats(1, 100), max_delay_seconds=st.floats(0, 1e6), jitter=st.floats(0, 1),
)  # fmt: skip


@given(policies, st.integers(1, 32_000), st.integers(1, 2**62))
def test_jitter_only_shortens_and_by_no_more_than_its_share(policy: RetryPolicy, failures: int, subject: int) -> None:
    plain = retry_delay(policy.model_copy(update={"jitter": 0}), failures, subject)
    jittered = retry_delay(policy, failures, subject)
    tick = timedelta(microseconds=1)
    assert plain * (1 - policy.jitter) - tick <= jittered <= plain <= timedelta(seconds=policy.max_delay_seconds) + tick


@given(st.integers(1, 1000), st.integers(1, 2**62))
def test_delays_never_shrink_as_failures_grow(failures: int, subject: int) -> None:
    policy = RetryPolicy(initial_delay_seconds=1, backoff_factor=1.5, max_delay_seconds=1e6)
    assert retry_delay(policy, failures, subject) <= retry_delay(policy, failures + 1, subject)


def test_two_subjects_do_not_come_back_at_the_same_moment() -> None:
    policy = RetryPolicy(jitter=0.5)
    assert len({retry_delay(policy, 1, subject) for subject in range(100)}) == 100
