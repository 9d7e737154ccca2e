"""What operations cost, in figures that do not vary: statements, locks, bytes of WAL, index entries walked past."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tenure.engine.actions.claim import claim
from tenure.engine.actions.complete import complete, complete_many
from tenure.engine.actions.hold import hold
from tenure.engine.actions.renew import renew_all
from tenure.engine.actions.submit import submit_many
from tenure.engine.caller import Caller
from tenure.model.requests import ClaimItems, CompleteExecution, PlaceHold, SubmitSubject
from tenure.model.worker import Worker
from tenure.sdk.session import opened
from tenure.store.operation import Op
from tenure.store.postgres.runner import run
from tenure.store.records import Claimed, ScanHint
from tests.store.actions import Lab
from tests.store.counting import CountingConnection
from tests.store.explained import Explained

TOKEN = b"t" * 32
_NOTHING_LIVE = 0


class Shop:
    """A tenant with a queue ``main`` and a worker that may hold anything, on a connection as Tenure opens its own."""

    def __init__(self, dsn: str, tenant_key: str) -> None:
        lab = Lab(dsn, tenant_key)
        lab.connection.execute("reset tenure.now")
        lab.define("main")
        self.worker: Worker = lab.register("idle", max_concurrent_leases=1_000_000)
        self.caller: Caller = lab.caller
        lab.close()
        self.dsn = dsn
        self.connection = self.connect()

    def connect(self) -> CountingConnection:
        connection = CountingConnection.connect(self.dsn, autocommit=True)
        opened(connection)
        return connection

    def run(self, op: Op[Any]) -> Any:
        return run(self.connection, op)

    def sent(self, op: Op[Any]) -> list[str]:
        """The statements that ``op`` sends."""
        self.connection.sent.clear()
        self.run(op)
        return list(self.connection.sent)

    def submit(self, count: int) -> Op[Any]:
        return submit_many(self.caller, [SubmitSubject(queue_key="main", properties={"n": n}) for n in range(count)])

    def claim(self, count: int, hint: ScanHint | None = None) -> Op[Any]:
        request = ClaimItems(
            worker=self.worker.uid, incarnation=1, queue_key="main", limit=count, token_hash=TOKEN, start=True
        )
        return claim(self.caller, request, hint)

    def completions(self, items: list[Claimed], **values: Any) -> list[CompleteExecution]:
        return [CompleteExecution(lease=item.lease, worker=item.worker, token_hash=TOKEN, **values) for item in items]


@pytest.fixture
def shop(shared_database: str, request: pytest.FixtureRequest) -> Iterator[Shop]:
    """A tenant of the test's own, with 1,100 subjects waiting."""
    made = Shop(shared_database, request.node.name.replace("[", "-").rstrip("]"))
    made.run(made.submit(1))
    made.run(made.submit(1099))
    yield made
    made.connection.close()


@pytest.mark.parametrize("count", [1, 10, 1000])
def test_a_submission_of_any_size_up_to_a_thousand_is_one_statement(shop: Shop, count: int) -> None:
    assert len(shop.sent(shop.submit(count))) == 1


def test_the_first_submission_of_a_template_looks_it_up_once(shared_database: str) -> None:
    fresh = Shop(shared_database, "first")
    assert [len(fresh.sent(fresh.submit(10))), len(fresh.sent(fresh.submit(10)))] == [2, 1]
    fresh.connection.close()


def test_a_larger_submission_is_a_small_statement_and_one_for_each_thousand_in_one_transaction(shop: Shop) -> None:
    assert len(shop.sent(shop.submit(2500))) == 4 + 2


@pytest.mark.parametrize("count", [1, 10, 1000])
def test_claiming_completing_and_renewing_any_number_is_one_statement_each(shop: Shop, count: int) -> None:
    shop.run(shop.claim(1))  # learns the code of the template
    assert len(shop.sent(shop.claim(count))) == 1
    items = shop.run(shop.claim(min(count, 50))).items
    renewal = renew_all(shop.caller, shop.worker.uid, 1, [(item.lease, TOKEN) for item in items])
    assert len(shop.sent(renewal)) == 1
    assert len(shop.sent(complete_many(shop.caller, shop.completions(items)))) == 1


def test_an_empty_claim_is_one_statement(shared_database: str) -> None:
    idle = Shop(shared_database, "nothing")
    assert len(idle.sent(idle.claim(100))) == 1
    idle.connection.close()


#: begin, subjects of the leases, lock, load, replays, queues, workers, clock, uids, apply, commit.
_GENERIC = 11


@pytest.mark.parametrize("count", [1, 10, 100])
def test_an_action_with_a_key_takes_the_same_few_statements_for_any_number(shop: Shop, count: int) -> None:
    items = shop.run(shop.claim(count)).items
    keyed = complete_many(shop.caller, shop.completions(items, idempotency_key="done"))
    assert len(shop.sent(keyed)) == _GENERIC


def test_an_action_on_a_subject_needs_no_look_up_of_leases_and_without_a_key_none_of_replays(shop: Shop) -> None:
    (item,) = shop.run(shop.claim(1)).items
    assert len(shop.sent(hold(shop.caller, PlaceHold(subject=item.subject, reason="broken seal")))) == _GENERIC - 2


# Locks ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def impatient(shop: Shop) -> Iterator[CountingConnection]:
    """A second connection that fails where it would have to wait for a lock."""
    connection = shop.connect()
    connection.execute("set lock_timeout = '200ms'")
    yield connection
    connection.close()


def test_a_claim_takes_what_comes_after_locked_rows_and_never_waits(shop: Shop, impatient: CountingConnection) -> None:
    order = [item.envelope.uid for item in shop.run(shop.caller.store.items(shop.caller.tenant, "main", 30))]
    with shop.connection.transaction(force_rollback=True):
        shop.connection.execute("select from tenure.execution where uid = any (%s) for update", [order[:20]])
        items = run(impatient, shop.claim(10)).items
    assert [item.subject for item in items] == order[20:]


def test_a_submission_never_waits_for_a_claim_nor_a_claim_of_another_worker_for_a_submission(
    shop: Shop, impatient: CountingConnection
) -> None:
    with shop.connection.transaction(force_rollback=True):
        assert len(shop.run(shop.claim(100)).items) == 100
        assert len(run(impatient, shop.submit(10))) == 10
    with shop.connection.transaction(force_rollback=True):
        shop.run(shop.submit(10))
        assert len(run(impatient, shop.claim(10)).items) == 10


def test_a_completion_never_waits_for_a_claim_under_way(shop: Shop, impatient: CountingConnection) -> None:
    items = shop.run(shop.claim(10)).items
    with shop.connection.transaction(force_rollback=True):
        shop.run(shop.claim(100))
        assert len(run(impatient, complete_many(shop.caller, shop.completions(items)))) == 10


# WAL --------------------------------------------------------------------------------------------------------------

_ROUND = 2000
_WAL_BAND = (2400, 3050)


def test_a_job_from_submission_to_completion_writes_a_known_amount_of_wal(
    shared_database: str, admin: psycopg.Connection, tell: Callable[[str], None]
) -> None:
    shop = Shop(shared_database, "wal")
    _still(shop.connection)

    def round_trip() -> None:
        shop.run(shop.submit(_ROUND // 2))
        shop.run(shop.submit(_ROUND // 2))
        for _ in range(_ROUND // 500):
            items = shop.run(shop.claim(500)).items
            assert len(shop.run(complete_many(shop.caller, shop.completions(items)))) == 500

    admin.execute("checkpoint")
    # The first round pays for whole images of pages that were there before the checkpoint.
    rounds = [_wal(admin, round_trip) / _ROUND for _ in range(3)]
    shop.connection.close()
    tell(f"bytes of WAL for each job: {[round(size) for size in rounds]}")
    assert _WAL_BAND[0] < min(rounds[1:]) < _WAL_BAND[1]


def _wal(admin: psycopg.Connection, work: Callable[[], None]) -> int:
    before = admin.execute("select pg_current_wal_insert_lsn()").fetchone()
    assert before is not None
    work()
    row = admin.execute("select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", [before[0]]).fetchone()
    assert row is not None
    return int(row[0])


def _still(connection: psycopg.Connection) -> None:
    """Keep autovacuum away, whose work would be counted as ours."""
    for table in ("subject", "execution", "attempt", "fact", "worker"):
        connection.execute(f"alter table tenure.{table} set (autovacuum_enabled = off)")


# A held horizon ---------------------------------------------------------------------------------------------------

_BATCH, _DONE = 100, 20_000


def test_under_a_held_horizon_a_claim_walks_past_what_was_taken_unless_a_hint_says_where_to_start(
    shared_database: str, tell: Callable[[str], None]
) -> None:
    """Some transaction stays open, so that no index entry of a taken subject can be removed: why ``Cursor`` exists."""
    shop = Shop(shared_database, "horizon")
    _still(shop.connection)
    for _ in range(_DONE // 1000 + 1):
        shop.run(shop.submit(1000))
    watched = Explained(shared_database, "force_generic_plan")
    with psycopg.connect(shared_database) as other:
        other.execute("set transaction isolation level repeatable read")
        other.execute("select 1 from tenure.execution limit 1")
        hint = None
        pages: dict[int, tuple[int, int]] = {}
        for done in range(_BATCH, _DONE + 1, _BATCH):
            items = shop.run(shop.claim(_BATCH, hint)).items
            assert len(items) == _BATCH
            hint = ScanHint(items[-1].order, _NOTHING_LIVE)
            shop.run(complete_many(shop.caller, shop.completions(items)))
            if done in (_BATCH, _DONE // 2, _DONE):
                pages[done] = (_pages(watched, shop, hint), _pages(watched, shop, None))
    watched.close()
    shop.connection.close()
    tell(f"pages of a claim of 100 by jobs done, with the hint and without: {pages}")
    with_hint = {done: pair[0] for done, pair in pages.items()}
    without = {done: pair[1] for done, pair in pages.items()}
    assert max(with_hint.values()) <= with_hint[_BATCH] + 5
    assert without[_DONE // 2] > 20 * without[_BATCH]
    assert without[_DONE] > 1.8 * without[_DONE // 2]


def _pages(watched: Explained, shop: Shop, hint: ScanHint | None) -> int:
    """How many pages the scan of the queue touches in a claim that is then undone."""
    with watched.undone():
        answer, ran = watched.run(shop.claim(_BATCH, hint))
    assert len(answer.items) == _BATCH
    (claimed,) = (one for one in ran if one.statement == "claim")
    (scan,) = (node for node in claimed.plan.scans() if node.get("Index Name") == "claimable")
    return int(scan["Shared Hit Blocks"] + scan["Shared Read Blocks"])


def test_a_single_completion_is_one_statement(shop: Shop) -> None:
    (item,) = shop.run(shop.claim(1)).items
    assert len(shop.sent(complete(shop.caller, shop.completions([item])[0]))) == 1


def test_a_completion_leaves_the_indexes_of_the_envelope_alone(shared_database: str) -> None:
    """`execution` has room for a second version on each page, and nothing that a completion changes is indexed."""
    shop = Shop(shared_database, "hot")
    shop.run(shop.submit(1000))
    items = shop.run(shop.claim(1000)).items
    before = _updates(shop.connection)
    shop.run(complete_many(shop.caller, shop.completions(items)))
    updates, heap_only = (after - first for after, first in zip(_updates(shop.connection), before, strict=True))
    shop.connection.close()
    assert updates == 1000
    # A page whose old versions somebody may still see has no room; that is a few of a thousand.
    assert heap_only > 900


def _updates(connection: psycopg.Connection) -> tuple[int, int]:
    connection.execute("select pg_stat_force_next_flush()")
    row = connection.execute(
        "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relid = 'tenure.execution'::regclass"
    ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


@pytest.mark.parametrize("mode", ["force_generic_plan", "force_custom_plan"])
def test_the_depth_of_a_queue_is_counted_in_its_index_alone(shared_database: str, mode: str) -> None:
    shop = Shop(shared_database, f"depth-{mode}")
    shop.run(shop.submit(3000))
    shop.connection.execute("vacuum tenure.execution")
    watched = Explained(shared_database, mode)

    counts, ran = watched.run(shop.caller.store.counts(shop.caller.tenant, ["main"], 60))

    watched.close()
    shop.connection.close()
    assert counts[0].queue_depth == 3000
    scans = [
        node for statement in ran for plan in (statement.plan, *statement.nested) for node in plan.scans({"execution"})
        if node["Actual Rows"] > 0
    ]  # fmt: skip
    assert [(node["Node Type"], node["Index Name"], node["Heap Fetches"]) for node in scans] == [
        ("Index Only Scan", "claimable", 0)
    ]
