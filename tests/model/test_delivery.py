"""What becomes of an event and of its receiver when a delivery succeeds or fails."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from tenure.model.delivery import DELIVERED, DOUBTS, Outcome, Receiver, Verdict, counted, verdict_of
from tenure.model.queue import RetryPolicy

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
FAILED, DOWN = Verdict(Outcome.FAILED, "http_500", 500), Verdict(Outcome.DOWN, "http_503", 503)


def receiver(failures: int = 0) -> Receiver:
    policy = RetryPolicy(initial_delay_seconds=1, max_delay_seconds=60)
    return Receiver(policy, 1, NOON, failures, NOON if failures else None)


@pytest.mark.parametrize(("status", "outcome"), [
    (200, "delivered"), (204, "delivered"), (299, "delivered"), (302, "failed"), (400, "refused"), (409, "refused"),
    (422, "refused"), (451, "refused"), (401, "failed"), (403, "failed"), (404, "failed"), (408, "failed"), (410, "failed"),
    (425, "failed"), (429, "down"), (500, "failed"), (501, "failed"), (502, "down"), (503, "down"), (504, "down"), (100, "failed"),
])  # fmt: skip
def test_what_a_status_says(status: int, outcome: str) -> None:
    assert verdict_of(status).outcome == outcome


@pytest.mark.parametrize(("asked", "heard"), [(7.0, 7.0), (-1.0, None), (1e9, 3600.0), (None, None)])
def test_how_long_a_receiver_may_ask_to_be_left_alone(asked: float | None, heard: float | None) -> None:
    assert verdict_of(503, asked).retry_after == heard


def test_a_receiver_that_is_down_is_left_alone_for_ever_longer() -> None:
    pauses = []
    for failures in (0, 1, 2, 10):
        one = receiver(failures)
        one.heard(DOWN, 1)
        assert one.halted
        assert one.resume_at is not None
        pauses.append((one.resume_at - NOON).total_seconds())
    assert pauses == [1, 2, 4, 60]


def test_it_is_left_alone_as_long_as_it_asks() -> None:
    one = receiver()
    one.heard(Verdict(Outcome.DOWN, "http_429", 429, 30.0), 1)
    assert one.resume_at == NOON + timedelta(seconds=30)


def test_many_that_hear_at_once_that_it_is_down_count_once() -> None:
    one = receiver()
    for thread in range(8):
        one.heard(DOWN, thread)
    assert one.failures == 1


def test_events_of_several_threads_that_fail_with_none_delivered_say_that_it_is_the_receiver() -> None:
    one = receiver()
    for thread in range(DOUBTS):
        assert not one.halted
        one.heard(FAILED, thread)
    assert one.halted


def test_one_thread_says_nothing_about_the_receiver_however_often_it_fails() -> None:
    one = receiver()
    for _ in range(20):
        one.heard(FAILED, 1)
    assert not one.halted


def test_what_is_delivered_takes_all_doubt_away() -> None:
    one = receiver(failures=3)
    for thread in (1, 2):
        one.heard(FAILED, thread)
    one.heard(DELIVERED, 3)
    one.heard(FAILED, 4)
    assert (one.halted, one.failures, one.failing_since, one.succeeded_at) == (False, 0, None, NOON)


def test_an_attempt_counts_only_where_others_got_through() -> None:
    before, after = NOON - timedelta(seconds=1), NOON + timedelta(seconds=1)
    assert counted(0, None, None, every=False) == 1
    assert counted(1, NOON, None, every=False) == 1
    assert counted(1, NOON, before, every=False) == 1
    assert counted(1, NOON, after, every=False) == 2
    assert counted(1, NOON, None, every=True) == 2
