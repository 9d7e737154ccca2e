"""The ledger on every store, and how far it can be read while transactions run (design 05, Out)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import psycopg
import pytest

from tenure.ledger.horizon import Horizon
from tenure.sdk.client import Tenure
from tenure.sdk.session import opened
from tenure.store.postgres.runner import run
from tenure.store.postgres.statements import text
from tenure.store.postgres.store import PostgresStore
from tests.store.harness import Bench
from tests.store.plan import Plan


def test_the_ledger_holds_the_facts_of_all_threads_in_the_order_in_which_they_were_told(bench: Bench) -> None:
    bench.define_queue("q")
    subjects = [bench.subject(), bench.subject()]
    bench.hold(subjects[0], reason="broken seal")

    written = bench.run(bench.store.ledger_written())
    facts = bench.run(bench.store.ledger_after(bench.tenant, 0, written, 1000))

    told = [(fact.thread, fact.type) for fact in facts if fact.thread in subjects]
    assert told == [
        (subjects[0], "subject.submitted"), (subjects[1], "subject.submitted"), (subjects[0], "hold.placed"),
    ]  # fmt: skip
    positions = [fact.position for fact in facts]
    assert positions == sorted(set(positions))


def test_it_is_read_between_two_positions_in_pages(bench: Bench) -> None:
    bench.define_queue("q")
    for _ in range(5):
        bench.subject()
    end = bench.run(bench.store.ledger_written())
    whole = bench.run(bench.store.ledger_after(bench.tenant, 0, end, 1000))

    paged, position = [], 0
    while page := bench.run(bench.store.ledger_after(bench.tenant, position, end, 2)):
        paged += page
        position = page[-1].position or 0

    assert [f.hash for f in paged] == [f.hash for f in whole]
    third = whole[2].position or 0
    assert bench.run(bench.store.ledger_after(bench.tenant, third, third, 10)) == []
    assert [f.hash for f in bench.run(bench.store.ledger_after(bench.tenant, 0, third, 10))] == [
        f.hash for f in whole[:3]
    ]


def test_another_tenants_facts_are_not_in_it(bench: Bench) -> None:
    bench.define_queue("q")
    bench.subject()

    end = bench.run(bench.store.ledger_written())

    assert bench.run(bench.store.ledger_after(bench.tenant + 2**40, 0, end, 1000)) == []


# The horizon -----------------------------------------------------------------------------------------------------------
def test_what_was_written_is_safe_when_nothing_ran_at_the_look() -> None:
    horizon = Horizon()
    horizon.note(written=10, mark=100)

    horizon.ended_below(100)

    assert (horizon.safe, horizon.settled) == (10, True)


def test_what_was_written_waits_for_whatever_ran_at_the_look() -> None:
    horizon = Horizon()
    horizon.note(written=10, mark=100)
    horizon.ended_below(95)
    assert (horizon.safe, horizon.settled) == (0, False)

    horizon.note(written=12, mark=110)
    horizon.ended_below(105)
    # Whatever could have drawn up to 10 has ended. What drew 11 or 12 may be 105, which runs.
    assert horizon.safe == 10

    horizon.ended_below(110)
    assert (horizon.safe, horizon.settled) == (12, True)


def test_it_never_goes_back() -> None:
    horizon = Horizon()
    horizon.note(written=10, mark=100)
    horizon.ended_below(100)

    horizon.note(written=8, mark=120)
    horizon.ended_below(50)

    assert (horizon.safe, horizon.settled) == (10, True)


@pytest.fixture
def watching(migrated_database: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(migrated_database, autocommit=True) as connection:
        yield connection


def test_a_position_has_a_transaction_before_it_is_drawn(watching: psycopg.Connection) -> None:
    """Where a transaction drew a position first and its number later, the horizon could go past it."""
    default = watching.execute(
        "select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = 'tenure.fact'::regclass and adnum ="
        " (select attnum from pg_attribute where attrelid = 'tenure.fact'::regclass and attname = 'position')"
    ).fetchone()

    assert default is not None
    assert default[0].index("pg_current_xact_id()") < default[0].index("nextval")


def test_nothing_is_skipped_while_many_write_at_once(migrated_database: str, watching: psycopg.Connection) -> None:
    store = PostgresStore()
    with Tenure(migrated_database, max_connections=6) as app:
        app.define_queue("q")
        tenant = app.caller.tenant

        def write(number: int) -> None:
            for turn in range(25):
                with app.transaction() as transaction:
                    for _ in range(1 + (number + turn) % 4):
                        transaction.submit(queue_key="q")

        writers = [threading.Thread(target=write, args=[n]) for n in range(5)]
        for writer in writers:
            writer.start()
        horizon, seen = Horizon(), [0]

        def follow() -> None:
            safe = run(watching, horizon.look(store))
            seen.extend(fact.position for fact in run(watching, store.ledger_after(tenant, seen[-1], safe, 10_000)))

        while any(writer.is_alive() for writer in writers):
            follow()
        follow()  # what was written last
        while not horizon.settled:
            follow()

    end = run(watching, store.ledger_written())
    there = [fact.position for fact in run(watching, store.ledger_after(tenant, 0, end, 100_000))]
    assert seen[1:] == there


def test_a_stride_of_the_ledger_reads_that_stride_and_no_more(watching: psycopg.Connection) -> None:
    opened(watching)
    watching.execute("set session_replication_role = replica")
    watching.execute(
        "insert into tenure.fact (thread, seq, tenant, at, type, actor, hash)"
        " select 1000 + 2 * n, 1, n % 10, now(), 'subject.submitted', 'user:ada', sha256(n::text::bytea)"
        " from generate_series(1, 50000) n"
    )
    watching.execute("set session_replication_role = origin")

    def plan() -> Plan:
        statement = text("ledger_after")
        values = {"tenant": 3, "after": 20_000, "up_to": 21_000, "limit": 500}
        row = watching.execute("explain (analyze, buffers, timing off, format json) " + statement, values).fetchone()  # type: ignore[arg-type]
        assert row is not None
        return Plan.of(json.dumps(row[0][0]))

    for _ in range(2):
        found = plan()
        assert found.misdeeds() == []
        assert {node["Index Name"] for node in found.nodes() if "Index Name" in node} == {"fact_position"}
        assert found.rows_read() <= 1000
        watching.execute("analyze tenure.fact")
