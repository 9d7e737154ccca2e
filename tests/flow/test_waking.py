"""Code that waits for a signal is tried once the signal is there, whoever has its subject at that moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from tenure.flow.engine import asking, code, reading
from tenure.flow.engine.code import Holder
from tests.flow.lab import FlowLab, step, task
from tests.waiting import until

YEAR = 365 * 86400


def await_paid(lab: FlowLab) -> Any:
    """The next piece of work, put off because its code waits for a signal."""
    (lease,) = lab.take()
    assert lab.run(code.take_signal, Holder(lease.subject, lease.lease, lab.worker.uid), "paid", 1) is None
    lab.bench.defer(lease, until=lab.bench.in_seconds(YEAR))
    return lease.subject


def waiting(lab: FlowLab) -> tuple[int, int]:
    """A plain job whose code waits for a signal, and its run."""
    lab.bench.define_queue("q")
    lab.bench.subject(next_action_key="a")
    subject = await_paid(lab)
    return subject, lab.run(reading.runnable_of, subject).run


def got(lab: FlowLab) -> Any:
    """What the code that is tried next has waited for."""
    (lease,) = lab.take()
    taken = lab.run(code.take_signal, Holder(lease.subject, lease.lease, lab.worker.uid), "paid", 1)
    lab.bench.complete(lease)
    return taken.value if taken is not None else None


def paid(lab: FlowLab, run: int, value: Any = 7) -> None:
    lab.run(asking.signal, run, "paid", value)


@contextmanager
def locked(pg: FlowLab, subject: int) -> Iterator[None]:
    """While somebody's transaction has a subject."""
    assert pg.connection is not None
    with psycopg.connect(pg.connection.info.dsn) as holder:
        holder.execute("select from tenure.execution where uid = %s for no key update", [subject])
        yield
        holder.rollback()


def test_a_signal_that_comes_while_the_job_is_held_is_taken_once_it_is_released(lab: FlowLab) -> None:
    subject, run = waiting(lab)
    lab.bench.hold(subject, reason="look")
    paid(lab, run)
    lab.bench.release_hold(subject)
    assert got(lab) == 7


def test_a_job_that_is_held_is_not_looked_at_again_and_again(lab: FlowLab) -> None:
    subject, run = waiting(lab)
    lab.bench.hold(subject, reason="look")
    paid(lab, run)
    lab.bench.later(5)
    assert (lab.tick(), lab.row(run).wake_at) == (1, None)
    lab.bench.release_hold(subject)
    assert got(lab) == 7


def test_a_signal_is_looked_at_once_more_and_then_left_to_its_code(lab: FlowLab) -> None:
    _, run = waiting(lab)
    paid(lab, run)
    assert lab.waiting() == ["a"]
    assert lab.row(run).wake_at == lab.bench.in_seconds(5)
    lab.bench.later(5)
    assert (lab.tick(), lab.row(run).wake_at, lab.tick()) == (1, None, 0)
    assert got(lab) == 7


def test_nothing_falls_due_for_a_signal_that_was_taken_or_that_nobody_waits_for(lab: FlowLab) -> None:
    _, run = waiting(lab)
    lab.run(asking.signal, run, "other")
    assert lab.row(run).wake_at is None
    paid(lab, run)
    (lease,) = lab.take()
    lab.run(code.take_signal, Holder(lease.subject, lease.lease, lab.worker.uid), "paid", 1)
    assert lab.row(run).wake_at is None


def test_two_steps_that_wait_for_one_name_are_both_tried_for_two_signals(lab: FlowLab) -> None:
    lab.define(task("a"), task("b"))
    run = lab.start()
    await_paid(lab)
    await_paid(lab)
    paid(lab, run.run, 1)
    paid(lab, run.run, 2)
    lab.bench.later(5)
    lab.tick()
    assert [got(lab), got(lab)] == [1, 2]
    assert lab.status(run) == "COMPLETED"


def test_a_signal_that_comes_while_somebody_has_the_job_locked_is_taken_soon_after(pg: FlowLab) -> None:
    subject, run = waiting(pg)
    with locked(pg, subject):
        paid(pg, run)
        pg.bench.later(5)
        assert pg.tick() == 1  # still locked: looked at again
    assert pg.waiting() == []
    pg.bench.later(5)
    pg.tick()
    assert got(pg) == 7


def test_a_signal_is_not_lost_to_another_that_waits_for_the_run_at_that_moment(pg: FlowLab) -> None:
    subject, run = waiting(pg)
    assert pg.connection is not None
    pg.connection.execute("set lock_timeout = 0")
    with pg.bench.beside() as bench:
        bench.caller = pg.bench.caller
        other = threading.Thread(target=lambda: bench.perform(asking.signal_subject, subject, "other"))
        with pg.connection.transaction():
            pg.run(asking.signal, run, "first")  # has the run
            other.start()  # has the subject, and waits for the run
            until(lambda: waits_for_a_lock(pg))
            paid(pg, run)
        other.join(30)
    assert not other.is_alive()
    pg.bench.later(5)
    pg.tick()
    assert got(pg) == 7


def waits_for_a_lock(pg: FlowLab) -> bool:
    assert pg.connection is not None
    with psycopg.connect(pg.connection.info.dsn) as watching:
        waits = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        return bool(watching.execute(waits).fetchall()[0][0])


def test_a_job_whose_queue_is_gone_keeps_no_tick_from_the_runs_of_others(pg: FlowLab) -> None:
    subject, run = waiting(pg)
    pg.define(step("rest", "wait", duration="5s"), name="short", queue="later")
    with locked(pg, subject):
        paid(pg, run)
    pg.bench.define_queue("later")
    pg.bench.retire_queue("q", reason="moved")
    other = pg.start("short")
    pg.bench.later(5)
    assert pg.tick() == 2
    assert pg.status(other) == "COMPLETED"
    pg.bench.requeue(subject, queue_key="later", reason="moved")
    (lease,) = pg.take("later")
    assert pg.run(code.take_signal, Holder(subject, lease.lease, pg.worker.uid), "paid", 1).value == 7
