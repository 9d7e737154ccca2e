"""What a set of ends costs: a constant number of statements, however many runs are in it, each reading by key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tenure.engine.actions.complete import complete_many
from tenure.flow.engine import asking, reading, ticking
from tenure.flow.engine.beginning import Start
from tenure.flow.engine.starting import start_many
from tenure.flow.model.requests import CancelRun
from tenure.flow.port import RunFilter
from tenure.model.requests import CompleteExecution
from tenure.model.result import ActionResult
from tenure.sdk.session import opened
from tenure.store.operation import Alone, Op, Statement
from tests.flow.lab import FlowLab, postgres_lab, task
from tests.store.explained import Explained
from tests.store.plan import DEEP


@pytest.fixture
def lab(migrated_database: str) -> Iterator[FlowLab]:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        opened(connection)
        yield postgres_lab(connection)


#: A few are written by functions that stand for the same statements.
_OF_FEW = {"submit_one": "submit", "complete_few": "complete_plain", "claim_few": "claim"}


class Counted:
    """Counts the statements of operations."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()

    def of(self, op: Op[Any]) -> Op[Any]:
        step = next(op)
        try:
            while True:
                name = step.name if isinstance(step, Statement) else type(step).__name__
                if not isinstance(step, Alone):  # which asks nobody
                    self.names[_OF_FEW.get(name, name)] += 1
                try:
                    answer = yield step
                except psycopg.Error as error:
                    step = op.throw(error)
                else:
                    step = op.send(answer)
        except StopIteration as stop:
            return stop.value


def statements_of_completing(lab: FlowLab, count: int, *, keyed: bool = False) -> Counter[str]:
    started = lab.run(start_many, [Start("order", {"n": n}) for n in range(count)])
    assert all(run.status == "RUNNING" for run in started)
    leases = lab.take(limit=count)
    requests = [
        CompleteExecution(
            lease=one.lease, worker=lab.worker.uid, token_hash=one.token.digest, result={"n": 1},
            idempotency_key=f"done {one.lease}" if keyed else None,
        )
        for one in leases
    ]  # fmt: skip
    counted = Counted()
    outcomes = lab.run(lambda caller: counted.of(complete_many(caller, requests)))
    assert all(isinstance(outcome, ActionResult) for outcome in outcomes)
    assert len(outcomes) == count
    return counted.names


def test_ending_many_steps_costs_as_many_statements_as_ending_one(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two", input="$.outputs.one"))
    statements_of_completing(lab, 1)
    for _ in range(2):
        lab.drain()
    one = statements_of_completing(lab, 1)
    lab.drain()
    many = statements_of_completing(lab, 300)
    assert many == one == {"complete_plain": 1, "look_at_steps": 1, "hand_over": 1}


def test_what_takes_the_common_way_costs_a_constant_number_of_statements_too(lab: FlowLab) -> None:
    lab.define(task("one", on_ok="two"), task("two", input="$.outputs.one"))
    statements_of_completing(lab, 1, keyed=True)
    lab.drain()
    one = statements_of_completing(lab, 1, keyed=True)
    lab.drain()
    many = statements_of_completing(lab, 300, keyed=True)
    assert many == one
    follow = {
        name: n
        for name, n in one.items()
        if name.startswith(("journal", "lock_runs", "runs", "runnables", "subjects_of_r"))
    }
    assert follow == {
        "runnables_of_subjects": 1, "lock_runs": 1, "runs": 1, "journal_load": 1, "subjects_of_runnables": 1,
        "journal_append": 1,
    }  # fmt: skip
    print(f"{sum(one.values())} statements for a set: {dict(one)}")


def statements_of_starting(lab: FlowLab, count: int, key: str | None = None) -> Counter[str]:
    counting = Counted()
    starts = [Start("order", {"n": n}, f"{key} {n}" if key else None) for n in range(count)]
    lab.run(lambda caller: counting.of(start_many(caller, starts)))
    return counting.names


def test_starting_many_runs_costs_as_many_statements_as_starting_one(lab: FlowLab) -> None:
    lab.define(task("one"))
    lab.start()
    one, many = statements_of_starting(lab, 1), statements_of_starting(lab, 300)
    assert one == {"workflow": 1, "moment": 1, "hand_over": 1}
    assert many == one + Counter({"Begin": 1, "Commit": 1})


def test_starting_runs_by_key_costs_a_constant_number_of_statements_too(lab: FlowLab) -> None:
    lab.define(task("one"))
    lab.start(key="first")
    assert statements_of_starting(lab, 300, "a") == statements_of_starting(lab, 1, "b")


def test_a_long_run_is_read_from_its_last_checkpoint(lab: FlowLab) -> None:
    each = {"performer": "task", "action": "square", "input": {"n": "$.item"}}
    lab.define({"name": "all", "performer": "map", "over": "$.input", "each": each, "max_parallel": 1})
    run = lab.start(value=list(range(40)))
    lab.drain()
    assert lab.status(run) == "COMPLETED"
    kept = lab.bench.run(lab.storage.journal.checkpoint(run.run))
    facts = lab.bench.run(lab.storage.journal.load(run.run))
    assert len(facts) > 80
    assert len(facts) - 34 <= kept.rev <= len(facts)


#: The tables of runs that grow with the work, and those of the kernel.
TABLES = DEEP | {"run", "runnable", "run_payload", "journal_checkpoint"}


@pytest.mark.parametrize(
    ("analyzed", "walled"), [(False, False), (True, False), (False, True), (True, True)],
    ids=["never analyzed", "analyzed", "as the server, never analyzed", "as the server, analyzed"],
)  # fmt: skip
def test_every_statement_on_runs_reads_by_key(
    migrated_database: str, lab: FlowLab, analyzed: bool, walled: bool
) -> None:
    lab.bench.run(lab.storage.lock_runs(lab.bench.tenant, [1]))
    lab.define(task("one", on_ok="two"), task("two", input="$.outputs.one", on_ok="paid"),
               {"name": "paid", "performer": "wait", "signal": "payment", "deadline": "1h"})  # fmt: skip
    connection = psycopg.connect(migrated_database, autocommit=True)
    for table in sorted(TABLES):
        connection.execute(f"alter table tenure.{table} set (autovacuum_enabled = off)")
    runs = lab.run(start_many, [Start("order", {"n": n}, f"k{n}") for n in range(600)])
    leases = lab.take(limit=300)
    if analyzed:
        connection.execute("analyze")
    connection.close()
    session = Explained(migrated_database, "force_generic_plan")
    session.connection.execute("select set_config('tenure.now', %s, false)", [lab.bench.now.isoformat()])
    caller = lab.bench.caller
    if walled:
        session.connection.execute("select set_config('tenure.tenant', %s, false)", [str(caller.tenant)])
        session.connection.execute("set role tenure_api")
    requests = [
        CompleteExecution(lease=one.lease, worker=lab.worker.uid, token_hash=one.token.digest, result=1)
        for one in leases[:20]
    ]
    acts: list[tuple[Callable[[], Op[Any]], int]] = [
        (lambda: start_many(caller, [Start("order", {"n": n}, f"new{n}") for n in range(20)]), 20),
        (lambda: start_many(caller, [Start("order", {"n": n}, f"k{n}") for n in range(20)]), 20),
        (lambda: complete_many(caller, requests), 20),
        (lambda: asking.signal(caller, runs[0].run, "payment", {"sum": 1}, idempotency_key="p"), 1),
        (lambda: asking.cancel(caller, runs[1].run, CancelRun()), 1),
        (lambda: lab.storage.list_runs(caller.tenant, RunFilter(), 50, None), 50),
        (lambda: lab.storage.list_runs(caller.tenant, RunFilter(name="order", status="RUNNING"), 50, None), 50),
        (lambda: ticking.tick(caller), 1),
        (lambda: lab.storage.lock_runs_free(caller.tenant, [run.run for run in runs[100:120]]), 20),
        (lambda: reading.inspect(caller, runs[2].run), 1),
    ]
    misdeeds = []
    for perform, handled in acts:
        with session.undone():
            _, ran = session.run(perform())
        for one in ran:
            whole = [n["Relation Name"] for n in one.plan.scans(TABLES) if n["Node Type"] == "Seq Scan"]
            misdeeds += [f"{one.statement}: reads {table} whole" for table in whole]
            if (rows := one.plan.rows_read(TABLES)) > 8 * handled + 10:
                misdeeds.append(f"{one.statement}: reads {rows:.0f} rows for {handled}")
            for plan in one.nested:
                misdeeds += [f"{one.statement}, below: {m}" for m in plan.misdeeds()]
    session.close()
    assert "\n".join(misdeeds) == ""
