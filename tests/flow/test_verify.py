"""verify covers runs: whatever is changed behind Tenure's back is found, and what is sound is not called wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from tests.flow.lab import FlowLab, postgres_lab, step, task
from tests.flow.test_recovery import nobody_following


def long_run(lab: FlowLab) -> Any:
    each = {"performer": "task", "action": "square", "input": {"n": "$.item"}}
    lab.define(step("all", "map", over="$.input", each=each, max_parallel=1), output="$.outputs.all")
    run = lab.start(value=list(range(20)))
    for _ in range(18):
        lab.work(1)
    return run


def kinds(lab: FlowLab) -> set[str]:
    lab.tampered = True
    return set(lab.verified().found)


def test_sound_runs_are_clean_and_counted(lab: FlowLab) -> None:
    long_run(lab)
    report = lab.verified()
    assert (report.clean, report.runs) == (True, 1)


def test_an_end_that_was_not_applied_is_found(lab: FlowLab) -> None:
    lab.define(task("one"))
    lab.start()
    with nobody_following(lab):
        lab.work()
    assert kinds(lab) == {"end_not_applied"}


def test_work_of_an_ended_run_is_found(lab: FlowLab) -> None:
    lab.define(task("one"))
    lab.start()
    lease = lab.fail()
    with nobody_following(lab):
        lab.bench.requeue(lease.subject, reopen=True, reason="by hand")
    assert kinds(lab) == {"work_after_end"}


def test_a_wrong_checkpoint_is_found(lab: FlowLab) -> None:
    run = long_run(lab)
    kept = lab.bench.run(lab.storage.journal.checkpoint(run.run))
    lab.bench.run(lab.storage.journal.put_checkpoints([replace(kept, state={**kept.state, "key": "forged"})]))
    assert kinds(lab) == {"checkpoint_differs"}


@pytest.fixture
def pg(migrated_database: str) -> Iterator[FlowLab]:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        yield postgres_lab(connection)


FORGERIES: dict[str, tuple[str, str]] = {
    "the status": ("update tenure.run set status = 'PAUSED'", "run_differs"),
    "the key": ("update tenure.run set run_key = 'other'", "run_differs"),
    "the input": ("update tenure.run set input = '[1]'", "run_input_differs"),
    "a fact": ("update tenure.fact set data = '{}' where type = 'run.runnables_planned'", "hash_broken"),
    "a missing fact": ("delete from tenure.fact where type = 'run.runnables_planned'", "seq_gap"),
    "a missing runnable": ("delete from tenure.runnable", "runnable_missing"),
    "a runnable's step": ("update tenure.runnable set step = 'two'", "runnable_differs"),
}


@pytest.mark.parametrize("what", FORGERIES)
def test_what_is_forged_is_found(pg: FlowLab, what: str) -> None:
    pg.define(task("one"))
    pg.start(value={"n": 1})
    forge, kind = FORGERIES[what]
    assert pg.connection is not None
    pg.connection.execute("set session_replication_role = replica")
    pg.connection.execute(forge)  # type: ignore[call-overload]
    pg.connection.execute("set session_replication_role = origin")
    assert kind in kinds(pg)


def test_a_forged_output_is_found(pg: FlowLab) -> None:
    pg.define(task("one"), output="$.outputs.one")
    pg.start()
    pg.work({"n": 1})
    assert pg.connection is not None
    pg.connection.execute("set session_replication_role = replica")
    pg.connection.execute("update tenure.run set output = '{\"n\": 2}'")
    pg.connection.execute("set session_replication_role = origin")
    assert kinds(pg) == {"run_output_differs"}


LAW: dict[str, tuple[Callable[[FlowLab], object], str, str]] = {
    "a silent change of status": (lambda lab: lab.start(), "update tenure.run set status = 'PAUSED'", "TN003"),
    "a seq without its fact": (lambda lab: lab.start(), "update tenure.run set seq = seq + 1", "TN003"),
    "another key": (lambda lab: lab.start(), "update tenure.run set run_key = 'x'", "TN003"),
    "another input": (lambda lab: lab.start(), "update tenure.run set input = '1'", "TN003"),
    "deleting a run": (lambda lab: lab.start(), "delete from tenure.run", "TN001"),
    "deleting a runnable": (lambda lab: lab.start(), "delete from tenure.runnable", "TN001"),
    "editing a runnable": (lambda lab: lab.start(), "update tenure.runnable set step = 'x'", "TN001"),
    "deleting a workflow": (lambda lab: None, "delete from tenure.workflow", "TN001"),
    "another definition": (lambda lab: None, "update tenure.workflow set definition = '{}'", "TN003"),
    "in_run without a runnable": (
        lambda lab: lab.bench.subject("q"), "update tenure.execution set in_run = true", "TN006"),
    "no runnable any more": (lambda lab: lab.start(), "update tenure.execution set in_run = false", "TN002"),
    "a bar put up later": (lambda lab: lab.start(), "update tenure.execution set barred_workers = '{1}'", "TN001"),
    "reopening an ended run": (
        lambda lab: lab.cancel(lab.start()), "update tenure.run set status = 'RUNNING', ended_at = null, seq = seq + 1",
        "TN002"),
}  # fmt: skip


@pytest.mark.parametrize("what", LAW)
def test_the_law_of_runs_holds_whoever_writes(pg: FlowLab, what: str) -> None:
    pg.bench.define_queue("other")
    pg.define(task("one"))
    prepare, statement, code = LAW[what]
    prepare(pg)
    assert pg.connection is not None
    with pytest.raises(psycopg.Error) as caught, pg.connection.transaction():
        pg.connection.execute(statement)  # type: ignore[call-overload]
    assert caught.value.sqlstate == code, caught.value
