"""The hot statements of a worker's connections are prepared once each, and before there is work."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from tenure import Tenure
from tenure.engine.actions.claim import claim
from tenure.engine.actions.complete import finish_many
from tenure.model.errors import StoreUnavailable
from tenure.model.requests import ClaimItems
from tenure.sdk.session import opened
from tenure.store.operation import Op
from tenure.store.postgres.own_connection import OwnConnection
from tenure.store.postgres.runner import run_own
from tenure.store.postgres.store import PostgresStore
from tenure.store.records import Claimed, Finish, ScanHint

STORE = PostgresStore()
TOKEN = b"t" * 32


@pytest.fixture
def app(migrated_database: str) -> Iterator[Tenure]:
    with Tenure(migrated_database, actor="user:ada") as app:
        app.define_queue("q")
        app.submit_many([{"queue_key": "q"} for _ in range(30)])
        yield app


@pytest.fixture
def connection(app: Tenure) -> Iterator[OwnConnection]:
    with OwnConnection.connect(app.settings.dsn, autocommit=True) as made:
        opened(made)
        yield made


def planned(connection: OwnConnection) -> dict[str, int]:
    """How many ways each kind of hot statement was prepared and planned on the connection."""
    query = "select statement from pg_prepared_statements where generic_plans > 0"
    texts = [row[0] for row in connection.cursor().execute(query, prepare=False).fetchall()]
    return {kind: sum(mark in text for text in texts) for kind, mark in _MARKS.items()}


_MARKS = {"claim": "as took_over", "complete": "tenure.told_before("}


def taken(app: Tenure, connection: OwnConnection, limit: int, hint: ScanHint | None = None) -> list[Claimed]:
    worker = app.register_worker("w", max_concurrent_leases=100)
    request = ClaimItems(
        worker=worker.uid, incarnation=worker.incarnation, queue_key="q", token_hash=TOKEN, limit=limit, start=True
    )
    return run_own(connection, lambda: claim(app.caller, request, hint)).items


def test_claims_are_planned_once_wherever_they_start(app, connection):
    first = taken(app, connection, 10)
    assert first[-1].order is not None
    second = taken(app, connection, 10, ScanHint(first[-1].order, first[0].lease - 1))

    assert {item.subject for item in first}.isdisjoint(item.subject for item in second)
    assert (len(first), len(second), planned(connection)["claim"]) == (10, 10, 1)


def test_what_is_planned_before_there_is_work_serves_the_work(app, connection):
    run_own(connection, lambda: STORE.plan_claims(app.caller.tenant))
    run_own(connection, lambda: STORE.plan_completions(app.caller.tenant))
    assert planned(connection) == {"claim": 1, "complete": 1}

    items = taken(app, connection, 10)
    finishes = [Finish(item.lease, TOKEN, b"p" * 32) for item in items]
    done = run_own(connection, lambda: finish_many(app.caller, items[0].worker, finishes))

    assert (len(done), planned(connection)) == (10, {"claim": 1, "complete": 1})


@pytest.mark.parametrize("planning", [STORE.plan_claims, STORE.plan_completions])
def test_planning_changes_nothing_and_waits_for_nobody(app, connection, planning):
    def plan() -> Op[None]:
        return planning(app.caller.tenant)

    run_own(connection, plan)
    with psycopg.connect(app.settings.dsn) as other:
        before = other.execute("select count(*), max(position) from tenure.fact").fetchone()
        other.execute("lock table tenure.attempt in share mode")
        with pytest.raises(StoreUnavailable):
            run_own(connection, plan)
        other.rollback()
        assert other.execute("select count(*), max(position) from tenure.fact").fetchone() == before
    run_own(connection, plan)
