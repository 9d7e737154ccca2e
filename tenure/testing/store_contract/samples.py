"""Samples of the metrics: who takes them, how long they are kept, and how they are read back."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from tenure.sdk.public_form import public
from tenure.testing.store_contract.bench import Bench

DAY = 86_400


def test_a_sample_is_what_the_metrics_say_at_that_moment(bench: Bench) -> None:
    bench.define_queue("q")
    bench.define_queue("r")
    worker = bench.worker()
    for _ in range(3):
        bench.subject()
    bench.fail(bench.run_it(worker), retryable=False)
    bench.complete(bench.run_it(worker))
    bench.take(worker)
    bench.later(7)
    bench.subject()

    taken = bench.sample_queues(window_seconds=120)

    assert [(sample.at, sample.window_seconds) for sample in taken] == [(bench.now, 120)] * 2
    assert [sample.counts for sample in taken] == bench.metrics(window_seconds=120)
    assert bench.latest_metrics() == taken
    assert bench.queue_samples("q", since=bench.in_seconds(-60)) == taken[:1]


def test_within_the_interval_nothing_is_sampled(bench: Bench) -> None:
    bench.define_queue("q")
    assert len(bench.sample_queues(min_interval_seconds=60)) == 1
    bench.later(59)
    assert bench.sample_queues(min_interval_seconds=60) == []
    bench.later(1)
    assert len(bench.sample_queues(min_interval_seconds=60)) == 1
    assert len(bench.queue_samples("q", since=bench.in_seconds(-600))) == 2


def test_of_several_processes_one_samples(bench: Bench) -> None:
    bench.define_queue("q")
    start = threading.Barrier(4)

    def one(_: int) -> int:
        with bench.beside() as mine:
            start.wait(10)
            return len(mine.sample_queues())

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(one, range(4)))

    assert sorted(made) == [0, 0, 0, 1]
    assert len(bench.queue_samples("q", since=bench.in_seconds(-60))) == 1


def test_samples_come_in_order_and_thinned_to_the_last_of_each_span(bench: Bench) -> None:
    bench.define_queue("q")
    start = bench.now
    for _ in range(12):
        bench.subject()
        bench.sample_queues(min_interval_seconds=10)
        bench.later(10)

    every = bench.queue_samples("q", since=start)
    third = bench.queue_samples("q", since=start, limit=4)

    assert [sample.counts.queue_depth for sample in every] == list(range(1, 13))
    assert [sample.counts.queue_depth for sample in third] == [3, 6, 9, 12]
    assert [s.counts.queue_depth for s in bench.queue_samples("q", since=start + timedelta(seconds=100))] == [11, 12]


def test_after_a_week_a_sample_is_dropped(bench: Bench) -> None:
    bench.define_queue("q")
    begin = bench.now
    bench.sample_queues()
    bench.later(7 * DAY)
    bench.sample_queues()
    assert len(bench.queue_samples("q", since=begin)) == 2
    bench.later(60)
    bench.sample_queues()
    left = bench.queue_samples("q", since=begin, limit=100_000)
    assert [sample.at for sample in left] == [bench.in_seconds(-60), bench.now]


def test_what_is_not_fresh_enough_is_counted_now(bench: Bench) -> None:
    bench.define_queue("q")
    bench.sample_queues()
    bench.later(30)
    bench.subject()
    bench.define_queue("new")

    fresh = bench.latest_metrics(["new", "q", "nowhere"], max_age_seconds=30)
    strict = bench.latest_metrics(["q"], max_age_seconds=29)

    assert [(s.counts.queue_key, s.at, s.counts.queue_depth) for s in fresh] == [
        ("new", bench.now, 0), ("q", bench.in_seconds(-30), 0),
    ]  # fmt: skip
    assert [(s.at, s.counts.queue_depth) for s in strict] == [(bench.now, 1)]


def test_a_queue_that_took_over_a_key_is_not_answered_with_its_predecessors_sample(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject()
    bench.sample_queues()
    bench.later(1)
    bench.retire_queue("q", reason="replaced")
    assert bench.latest_metrics(["q"]) == []
    bench.later(1)
    bench.define_queue("q")

    assert [sample.at for sample in bench.latest_metrics(["q"])] == [bench.now]


def test_a_sample_belongs_to_its_tenant(bench: Bench) -> None:
    bench.define_queue("q")
    other = bench.other_tenant(f"{bench.caller.tenant_key}-other")
    other.define_queue("q")

    assert len(bench.sample_queues()) == len(other.sample_queues()) == 1
    other.subject()
    assert other.latest_metrics(["q"], max_age_seconds=60)[0].counts.queue_depth == 0
    assert len(other.queue_samples("q", since=bench.in_seconds(-1))) == 1


def test_samples_are_asked_for_by_an_aware_time_and_a_limit_of_at_least_one(bench: Bench) -> None:
    bench.define_queue("q")
    naive = bench.now.replace(tzinfo=None)
    assert bench.error(bench.queue_samples, "q", since=naive).code == "naive_datetime"
    assert bench.error(bench.queue_samples, "q", since=bench.now, limit=0).code == "invalid_request"


def test_a_sample_has_a_public_form(bench: Bench) -> None:
    bench.define_queue("q")
    (sample,) = public(bench.sample_queues())
    assert (sample["at"], sample["counts"]["queue_depth"]) == ("2026-01-05T12:00:00.000000+00:00", 0)
