"""Runs that somebody's open transaction has locked: who ticks, sweeps or claims leaves them, and never waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from tenure.flow.engine import ticking
from tenure.flow.engine.results import RunResult
from tests.flow.lab import FlowLab, step, task


@contextmanager
def locked(pg: FlowLab, run: RunResult | int) -> Iterator[None]:
    """While somebody's transaction that moved a run is open."""
    assert pg.connection is not None
    uid = run if isinstance(run, int) else run.run
    with psycopg.connect(pg.connection.info.dsn) as holder:
        holder.execute("select from tenure.run where uid = %s for no key update", [uid])
        yield
        holder.rollback()


def resting(pg: FlowLab) -> RunResult:
    pg.define(step("rest", "wait", duration="30m", on_ok="go"), task("go"))
    return pg.start()


def with_child(pg: FlowLab, *steps: object, **fields: object) -> tuple[RunResult, int]:
    """A run and the child that it waits for."""
    pg.define(*steps, name="cake")
    pg.define(step("sub", "child", workflow="cake"), **fields)
    run = pg.start()
    (child,) = pg.bench.run(pg.storage.children(pg.bench.tenant, [run.run]))
    return run, child.uid


def last_attempt(pg: FlowLab) -> RunResult:
    pg.define(task("one", max_attempts=1))
    return pg.start()


# Ticks ----------------------------------------------------------------------------------------------------------------
def test_a_tick_leaves_a_locked_run_to_the_next_one_and_lets_the_others_go_on(pg: FlowLab) -> None:
    held, other = resting(pg), pg.start()
    pg.bench.later(1800)
    with locked(pg, held):
        assert pg.tick() == 1
        assert (pg.waiting(), pg.state(other).step("rest").phase) == (["go"], "ok")
        assert pg.tick() == 0
        assert pg.run(ticking.due_in) == 0
    assert pg.tick() == 1
    assert pg.waiting() == ["go", "go"]


def test_locked_runs_take_no_place_of_those_that_can_go_on(pg: FlowLab) -> None:
    held = resting(pg)
    pg.bench.later(1)
    pg.start()
    pg.bench.later(1800)
    with locked(pg, held):
        assert pg.run(ticking.tick, 1) == 1
    assert pg.waiting() == ["go"]


def test_a_tick_leaves_a_run_that_stands_below_a_locked_one(pg: FlowLab) -> None:
    parent, child = with_child(pg, step("rest", "wait", duration="30m"))
    pg.bench.later(1800)
    with locked(pg, parent):
        assert pg.tick() == 0
    assert pg.tick() == 1
    assert (pg.status(child), pg.status(parent)) == ("COMPLETED", "COMPLETED")


def test_a_run_whose_deadline_passed_stops_a_locked_child_at_the_next_look(pg: FlowLab) -> None:
    parent, child = with_child(pg, task("bake"), deadline="1h")
    pg.bench.later(3601)
    with locked(pg, child):
        assert pg.tick() == 1
        assert (pg.status(parent), pg.status(child)) == ("RUNNING", "RUNNING")
    assert pg.tick() == 0
    pg.bench.later(5)
    pg.tick()
    assert (pg.ended(parent)[:2], pg.status(child)) == (("FAILED", "deadline"), "CANCELED")
    assert pg.waiting() == []


# Sweeps and claims ----------------------------------------------------------------------------------------------------
def test_a_sweep_leaves_the_lapsed_work_of_a_locked_run_to_the_next_one(pg: FlowLab) -> None:
    held, other = last_attempt(pg), pg.start()
    pg.take(limit=2)
    pg.bench.later(10_000)
    with locked(pg, held):
        assert len(pg.bench.sweep()) == 1
        assert (pg.status(held), pg.status(other)) == ("RUNNING", "FAILED")
        assert len(pg.bench.leases("ACTIVE")) == 1
        assert pg.bench.sweep() == []
    assert len(pg.bench.sweep()) == 1
    assert (pg.status(held), pg.bench.leases("ACTIVE")) == ("FAILED", [])


def test_a_sweep_leaves_the_lapsed_work_of_a_run_below_a_locked_one(pg: FlowLab) -> None:
    parent, child = with_child(pg, task("bake", max_attempts=1))
    pg.take()
    pg.bench.later(10_000)
    with locked(pg, parent):
        assert pg.bench.sweep() == []
    assert len(pg.bench.sweep()) == 1
    assert (pg.status(child), pg.status(parent)) == ("FAILED", "FAILED")


def test_a_sweep_that_fails_a_run_stops_its_locked_child_at_the_next_look(pg: FlowLab) -> None:
    pg.define({"name": "bake", "performer": "task", "queue": "oven"}, name="cake")
    pg.define(step("sub", "child", workflow="cake"), task("one", max_attempts=1))
    parent = pg.start()
    (child,) = pg.bench.run(pg.storage.children(pg.bench.tenant, [parent.run]))
    pg.take()
    pg.bench.later(10_000)
    with locked(pg, child.uid):
        assert len(pg.bench.sweep()) == 1
        assert (pg.status(parent), pg.status(child.uid)) == ("RUNNING", "RUNNING")
    pg.bench.later(5)
    pg.tick()
    assert (pg.status(parent), pg.status(child.uid)) == ("FAILED", "CANCELED")


def test_work_that_has_attempts_left_is_swept_whoever_has_its_run(pg: FlowLab) -> None:
    pg.define(task("one"))
    run = pg.start()
    pg.take()
    pg.bench.later(10_000)
    with locked(pg, run):
        assert len(pg.bench.sweep()) == 1
    assert pg.bench.leases("ACTIVE") == []


def test_a_claim_takes_what_is_ready_though_lapsed_work_of_a_locked_run_is_in_its_way(pg: FlowLab) -> None:
    held = last_attempt(pg)
    pg.take()
    pg.bench.later(10_000)
    ready = pg.bench.subject()
    with locked(pg, held):
        (lease,) = pg.take()
        assert lease.subject == ready
        assert pg.take() == []
    assert pg.take() == []
    assert pg.status(held) == "FAILED"
