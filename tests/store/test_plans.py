"""Every hot statement reads what it returns and no more: whatever the statistics say, at any depth, in any batch.

One survey runs all hot paths at five ages of one database, with plans of every kind; each test judges what it found.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator

import psycopg
import pytest

from tenure.engine.actions.claim import claim
from tenure.engine.actions.complete import complete_many
from tenure.model.requests import CompleteExecution
from tenure.model.result import ActionResult
from tenure.sdk.session import opened
from tenure.store.postgres.runner import run
from tenure.store.postgres.statements import text
from tests.store.crowd import TOKEN
from tests.store.hot import ACTS, Act, claim_of
from tests.store.plan import DEEP
from tests.store.survey import ANALYZED_MILLION, CALLERS, GENERIC, KEPT, MILLION, TEN, Finding, Survey

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

STATEMENTS = sorted({statement for act in ACTS for statement in act.statements})
#: Rows that a statement reads of the deep tables for each row that it handles; three unless it shows more of a thread.
_ROWS = {"load_threads": 4, "claimed": 6, "renew_plain": 4}  # a renewal locks first, to wait for nobody
_ROWS_ANYWAY = 10
#: Rows that the law reads for each row written: facts and their predecessors, envelopes, edges.
_ROWS_OF_THE_LAW = 4
#: Statements that read by a function, whose plan is one below theirs.
_BY_FUNCTION = {"items"}
#: By which indexes a statement may read a table; `attempt_pkey` and the like are look-ups of single rows.
_INDEXES = {
    ("claim", "execution"): {"claimable", "deferred", "execution_pkey"},
    ("claim", "attempt"): {"lease_expiry"},
    ("items", "execution"): {"claimable", "deferred", "execution_pkey"},
    ("promote", "execution"): {"deferred", "execution_pkey"},
    ("next_due", "execution"): {"deferred"},
    ("next_due", "attempt"): {"lease_expiry"},
    ("lapsed", "attempt"): {"lease_expiry"},
    ("live_leases", "attempt"): {"worker_live"},
    ("complete_plain", "attempt"): {"attempt_pkey"},
    ("complete_plain", "execution"): {"execution_pkey"},
    ("renew_plain", "attempt"): {"attempt_pkey"},
    ("renew_plain", "execution"): {"execution_pkey"},
    ("load_threads", "attempt"): {"attempt_pkey", "one_live_lease"},
    ("find_submitted", "subject"): {"subject_submit_key"},
}


@pytest.fixture(scope="module")
def survey(shared_database: str) -> Survey:
    """The database at the end of its ages, and all that was found."""
    made = Survey(shared_database)
    made.walk()
    return made


@pytest.fixture(scope="module")
def found(survey: Survey) -> dict[str, list[Finding]]:
    """What was found of each statement."""
    by_statement: dict[str, list[Finding]] = defaultdict(list)
    for finding in survey.findings:
        by_statement[finding.ran.statement].append(finding)
    return by_statement


@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.name)
def test_every_hot_path_was_seen_at_work_on_a_million(survey: Survey, act: Act) -> None:
    seen = [f for f in survey.findings if f.act == act.name and f.age in (MILLION, ANALYZED_MILLION)]
    assert {f.ran.statement for f in seen} >= set(act.statements)
    assert {f.batch for f in seen} == set(act.batches)
    assert [str(f) for f in seen if f.handled < f.batch] == []


@pytest.mark.parametrize("statement", STATEMENTS)
def test_no_statement_reads_a_table_whole_or_joins_but_by_key(found: dict[str, list[Finding]], statement: str) -> None:
    misdeeds = {f"{misdeed}: {f}" for f in found[statement] for misdeed in f.ran.plan.misdeeds()}
    assert misdeeds == set()


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_law_and_the_functions_below_a_statement_read_by_key_too(
    found: dict[str, list[Finding]], statement: str
) -> None:
    misdeeds = {f"{m}: {f}" for f in found[statement] for plan in f.ran.nested for m in plan.misdeeds()}
    assert misdeeds == set()


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_reads_a_few_rows_for_each_that_it_handles(found: dict[str, list[Finding]], statement: str) -> None:
    allowed = _ROWS.get(statement, 3)
    assert [
        f"{f.ran.plan.rows_read():.0f} rows for {f.handled}: {f}" for f in found[statement]
        if f.ran.plan.rows_read() > allowed * f.handled + _ROWS_ANYWAY
    ] == []  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS)
def test_queues_and_workers_are_not_gone_through_one_by_one(found: dict[str, list[Finding]], statement: str) -> None:
    assert [
        f"{rows:.0f} rows for {f.handled}: {f}" for f in found[statement]
        if (rows := f.ran.plan.rows_read({"queue", "worker"})) > 2 * f.handled + _ROWS_ANYWAY
    ] == []  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_law_reads_a_few_rows_for_each_that_is_written(found: dict[str, list[Finding]], statement: str) -> None:
    assert [
        f"{rows:.0f} rows for {f.handled}: {f}" for f in found[statement]
        if (rows := sum(plan.rows_read() for plan in f.ran.nested)) > _ROWS_OF_THE_LAW * f.handled + _ROWS_ANYWAY
    ] == []  # fmt: skip


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_cost_of_a_row_does_not_grow_with_the_batch(found: dict[str, list[Finding]], statement: str) -> None:
    runs: dict[tuple[str, str, str], dict[int, float]] = defaultdict(dict)
    for f in found[statement]:
        if f.age in (MILLION, ANALYZED_MILLION) and f.handled:
            runs[f.age, f.session, f.act][f.batch] = f.ran.buffers / f.handled
    dearer = [
        f"{cost[more]:.1f} pages a row in batches of {more}, {cost[less]:.1f} of {less}: {where}"
        for where, cost in runs.items() for less, more in itertools.pairwise(sorted(cost))
        if cost[more] > 1.5 * cost[less] + 1
    ]  # fmt: skip
    assert dearer == []


@pytest.mark.parametrize("statement", STATEMENTS)
def test_the_cost_of_a_row_grows_with_the_height_of_an_index_at_most(
    found: dict[str, list[Finding]], statement: str
) -> None:
    shallow: dict[tuple[str, int], float] = {}
    deep: dict[tuple[str, int], float] = {}
    for f in found[statement]:
        if f.session in (KEPT, GENERIC) and f.handled == f.batch:
            if f.age == TEN:
                shallow[f.act, f.batch] = max(shallow.get((f.act, f.batch), 0), f.ran.buffers)
            if f.age in (MILLION, ANALYZED_MILLION):
                deep[f.act, f.batch] = max(deep.get((f.act, f.batch), 0), f.ran.buffers)
    assert [(key, shallow[key], deep[key]) for key in shallow if deep[key] > 3 * shallow[key] + 50] == []


@pytest.mark.parametrize(("statement", "table"), _INDEXES)
def test_a_statement_uses_the_indexes_that_were_made_for_it(
    found: dict[str, list[Finding]], statement: str, table: str
) -> None:
    plans = [
        plan for f in found[statement] for plan in (f.ran.plan, *(f.ran.nested if statement in _BY_FUNCTION else ()))
    ]
    used = {index for plan in plans for index in plan.indexes(table)}
    assert used == _INDEXES[statement, table]


#: The functions for a few, with what their triggers look up.
_INDEXES_OF_FEW = {
    ("claim_few", "execution"): {"claimable", "deferred", "execution_pkey"},
    ("claim_few", "attempt"): {"lease_expiry", "worker_live", "one_slot_a_worker"},
    ("complete_few", "execution"): {"execution_pkey"},
    ("complete_few", "attempt"): {"attempt_pkey"},
    ("submit_one", "subject"): {"subject_pkey", "subject_submit_key", "subject_external_ref"},
    ("submit_one", "execution"): {"execution_pkey"},
}


@pytest.mark.parametrize(("statement", "table"), _INDEXES_OF_FEW)
def test_a_function_for_a_few_uses_the_indexes_that_were_made_for_it(
    found: dict[str, list[Finding]], statement: str, table: str
) -> None:
    used = {index for f in found[statement] for plan in f.ran.nested for index in plan.indexes(table)}
    assert used
    assert used <= _INDEXES_OF_FEW[statement, table]


def test_plans_made_on_empty_tables_were_those_that_ran_on_a_million(survey: Survey) -> None:
    """Had a statement got other types of parameters, there would be a second plan, made on another day."""
    ran = {
        statement: [counts for query, *counts in survey.kept_plans if _same(query, statement)]
        for statement in ("claim", "complete_plain")
    }
    # Both larger batches, on no rows, on ten and on a million; what there are few of, or none, is completed one by one.
    assert ran == {"claim": [[6, 0]], "complete_plain": [[4, 0]]}


def _same(query: str, statement: str) -> bool:
    """Whether what a server has prepared is a statement file: up to the first parameter."""
    return query.startswith(text(statement).partition("%(")[0])


def test_a_callers_own_connection_without_any_setting_was_looked_at(survey: Survey) -> None:
    assert {f.ran.statement for f in survey.findings if f.session == CALLERS} >= {"submit", "find_submitted"}


@pytest.fixture
def ours(shared_database: str) -> Iterator[psycopg.Connection]:
    """A connection as Tenure opens its own."""
    with psycopg.connect(shared_database, autocommit=True) as connection:
        opened(connection)
        yield connection


def test_a_thousand_jobs_done_for_good_scan_nothing_by_the_servers_own_counts(
    survey: Survey, ours: psycopg.Connection, tell: Callable[[str], None]
) -> None:
    scene = survey.scene

    def counts() -> dict[str, tuple[int, int]]:
        ours.execute("select pg_stat_force_next_flush()")
        rows = ours.execute(
            "select relname, coalesce(seq_tup_read, 0), coalesce(idx_tup_fetch, 0) from pg_stat_user_tables"
            " where relname = any (%s)", [sorted(DEEP)],
        )  # fmt: skip
        return {name: (scanned, fetched) for name, scanned, fetched in rows}

    before = counts()
    taken = run(ours, claim(scene.caller, claim_of(scene, 1000))).items
    assert len(taken) == 1000
    done = run(ours, complete_many(scene.caller, [
        CompleteExecution(lease=item.lease, worker=item.worker, token_hash=TOKEN) for item in taken
    ]))  # fmt: skip
    assert all(isinstance(outcome, ActionResult) for outcome in done)
    after = counts()
    scanned = {table: after[table][0] - before[table][0] for table in DEEP}
    fetched = {table: (after[table][1] - before[table][1]) / 1000 for table in DEEP}
    tell(f"rows fetched by index for each job, claim and completion together: {fetched}")
    assert scanned == dict.fromkeys(DEEP, 0)
    assert sum(fetched.values()) < 20
