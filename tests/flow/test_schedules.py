"""Schedules start what they start exactly once for each due time, in their own time zones; missed windows by policy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from tenure.flow.engine import schedules
from tenure.flow.engine.registering import register
from tenure.flow.engine.ticking import due_in, tick
from tenure.flow.model.schedule import ScheduleSpec, firing
from tenure.model.errors import InvalidRequest, NotFound
from tenure.sdk import runs as sdk
from tests.flow.lab import FlowLab, postgres_lab, task


def define(lab: FlowLab, name: str = "nightly", **spec: object):
    return lab.run(sdk.define_schedule, name, **({"workflow": "order"} | spec))


@pytest.fixture
def nightly(lab: FlowLab) -> FlowLab:
    lab.define(task("one"))
    define(lab, cron="0 3 * * *", input={"n": 1})
    return lab


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def test_a_schedule_starts_one_run_at_its_time(nightly: FlowLab) -> None:
    lab = nightly  # it is noon
    assert lab.run(due_in) == 15 * 3600
    assert lab.tick() == 0
    lab.bench.later(15 * 3600)
    assert lab.tick() == 1
    assert lab.tick() == 0
    (run,) = lab.list()
    assert (run.run_key, run.input) == ("schedule:nightly:2026-01-06T03:00:00.000000+00:00", {"n": 1})
    (row,) = lab.run(schedules.schedules)
    assert row.next_at == at("2026-01-07T03:00:00Z")
    assert lab.bench.types(row.uid) == ["schedule.defined", "schedule.fired"]


@pytest.mark.parametrize(("missed", "started"), [("skip", 0), ("once", 1), ("catch_up", 3)])
def test_missed_windows_are_handled_by_policy(lab: FlowLab, missed: str, started: int) -> None:
    lab.define(task("one"))
    define(lab, cron="0 3 * * *", missed=missed)
    lab.bench.later(2 * 86400 + 20 * 3600)  # three windows, the last of them five hours ago
    (fired,) = lab.run(schedules.fire)
    assert (fired.started, fired.skipped) == (started, 3 - started)
    assert len(lab.list()) == started


def test_a_window_that_is_hardly_late_is_not_missed(lab: FlowLab) -> None:
    lab.define(task("one"))
    define(lab, cron="0 3 * * *", missed="skip")
    lab.bench.later(15 * 3600 + 240)
    assert lab.run(schedules.fire)[0].started == 1


def test_a_one_off_fires_once(lab: FlowLab) -> None:
    lab.define(task("one"))
    define(lab, at=lab.bench.in_seconds(60))
    lab.bench.later(61)
    assert lab.tick() == 1
    lab.bench.later(1000)
    assert lab.tick() == 0
    assert len(lab.list()) == 1
    assert lab.run(schedules.schedules)[0].next_at is None


def test_a_schedule_may_put_subjects_before_a_queue(lab: FlowLab) -> None:
    lab.bench.define_queue("chores")
    define(lab, workflow=None, queue_key="chores", action="sweep", cron="0 0 * * *", input={"floor": 2})
    lab.bench.later(13 * 3600)
    lab.tick()
    assert lab.waiting("chores") == ["sweep"]


def test_times_are_those_of_the_zone_through_its_changes() -> None:
    berlin = ScheduleSpec(name="x", workflow="w", cron="30 8 * * *", timezone="Europe/Berlin")
    assert berlin.next_after(at("2026-03-28T12:00:00Z")) == at("2026-03-29T06:30:00Z")  # summer time began that night
    assert berlin.next_after(at("2026-03-27T12:00:00Z")) == at("2026-03-28T07:30:00Z")
    gap = ScheduleSpec(name="x", workflow="w", cron="30 2 * * *", timezone="Europe/Berlin")
    assert gap.next_after(at("2026-03-28T12:00:00Z")) == at("2026-03-29T01:00:00Z")  # 02:30 does not exist
    assert gap.next_after(at("2026-10-24T12:00:00Z")) == at("2026-10-25T00:30:00Z")  # and is there twice
    assert gap.next_after(at("2026-10-25T00:30:00Z")) == at("2026-10-26T01:30:00Z")


def test_a_changed_zone_starts_no_due_time_twice(lab: FlowLab) -> None:
    lab.define(task("one"))
    define(lab, cron="0 13 * * *", timezone="Europe/Berlin")
    lab.bench.later(86400 - 60)
    lab.bench.later(60)
    define(
        lab, cron="0 12 * * *", timezone="UTC"
    )  # the same instant in another zone; noon is passed for the definition
    lab.tick()
    define(lab, cron="0 13 * * *", timezone="Europe/Berlin")
    lab.bench.later(86400)
    lab.tick()
    keys = [run.run_key for run in lab.list()]
    assert len(keys) == len(set(keys))
    row = lab.run(schedules.schedules)[0]
    with_key = lab.start(value={}, key=schedules.due_key(row, lab.bench.now))
    assert with_key.replayed


def test_a_paused_schedule_rests(nightly: FlowLab) -> None:
    nightly.run(sdk.pause_schedule, "nightly", reason="holidays")
    nightly.bench.later(3 * 86400)
    assert nightly.tick() == 0
    nightly.run(sdk.resume_schedule, "nightly")
    assert nightly.tick() == 0
    nightly.bench.later(86400)
    nightly.tick()
    assert len(nightly.list()) == 1
    with pytest.raises(NotFound):
        nightly.run(sdk.pause_schedule, "other")


@pytest.mark.parametrize(
    "spec", [{"cron": "99 * * * *"}, {"cron": "0 3 * * *", "timezone": "Mars/Base"}, {}, {"cron": "x"},
             {"cron": "0 3 * * *", "at": datetime(2026, 1, 1, tzinfo=UTC)}, {"cron": "0 3 * * *", "queue_key": "q"}],
)  # fmt: skip
def test_a_schedule_that_cannot_be_is_refused(lab: FlowLab, spec: dict) -> None:
    lab.define(task("one"))
    with pytest.raises(InvalidRequest):
        define(lab, **spec)


def test_a_schedule_of_a_workflow_that_is_not_there_is_refused(lab: FlowLab) -> None:
    with pytest.raises(NotFound):
        define(lab, cron="0 3 * * *")


def test_a_trigger_of_a_workflow_becomes_a_schedule(lab: FlowLab) -> None:
    trigger = {"name": "early", "kind": "schedule", "cron": "0 6 * * *", "timezone": "Europe/Berlin", "input": {"n": 1}}
    definition = {"name": "order", "queue": "q", "steps": [task("one")], "triggers": [trigger]}
    lab.run(register, definition)
    lab.run(register, definition)
    (row,) = lab.run(schedules.schedules)
    assert (row.name, row.next_at) == ("order/early", at("2026-01-06T05:00:00Z"))


def test_a_schedule_that_is_far_behind_catches_up_bit_by_bit() -> None:
    spec = ScheduleSpec(name="x", workflow="w", cron="* * * * *", missed="catch_up")
    first = at("2026-01-01T00:00:00Z")
    decided = firing(spec, first, first + timedelta(days=2))
    assert len(decided.due) == 1000
    assert decided.next_at == first + timedelta(minutes=1000)


@pytest.fixture
def crowd(migrated_database: str) -> Iterator[FlowLab]:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        yield postgres_lab(connection)


def test_with_many_tickers_each_due_time_is_started_once(crowd: FlowLab) -> None:
    crowd.define(task("one"))
    for number in range(5):
        define(crowd, f"s{number}", cron="*/10 * * * *", missed="catch_up")
    crowd.bench.later(3600)
    start = threading.Barrier(4)
    failures: list[BaseException] = []

    def ticking() -> None:
        with crowd.bench.beside() as own:
            own.caller = crowd.bench.caller
            start.wait(30)
            try:
                for _ in range(3):
                    own.perform(tick)
            except BaseException as error:
                failures.append(error)

    tickers = [threading.Thread(target=ticking) for _ in range(4)]
    for ticker in tickers:
        ticker.start()
    for ticker in tickers:
        ticker.join(60)
    assert failures == []
    keys = [run.run_key for run in crowd.list()]
    assert len(keys) == len(set(keys)) == 5 * 6


def test_schedule_duplicates_across_queues_and_time_zone_changes(crowd: FlowLab) -> None:
    """One due time of a schedule is one subject, whichever queue and zone the schedule had when it was looked at."""
    crowd.bench.define_queue("early")
    crowd.bench.define_queue("late")
    chore = {"workflow": None, "action": "sweep", "input": {}, "missed": "catch_up"}
    define(crowd, cron="0 13 * * *", timezone="Europe/Berlin", queue_key="early", **chore)
    crowd.bench.later(86400 - 60)
    for zone, cron, queue in (("UTC", "0 12 * * *", "late"), ("Europe/Berlin", "0 13 * * *", "early")) * 2:
        define(crowd, cron=cron, timezone=zone, queue_key=queue, **chore)
    crowd.bench.later(120)
    start = threading.Barrier(4)

    def ticking() -> None:
        with crowd.bench.beside() as own:
            own.caller = crowd.bench.caller
            start.wait(30)
            own.perform(tick)

    tickers = [threading.Thread(target=ticking) for _ in range(4)]
    for ticker in tickers:
        ticker.start()
    for ticker in tickers:
        ticker.join(60)
    assert crowd.waiting("early") + crowd.waiting("late") == ["sweep"]
    define(crowd, cron="0 12 * * *", timezone="UTC", queue_key="late", **chore)
    crowd.tick()
    assert crowd.waiting("early") + crowd.waiting("late") == ["sweep"]
