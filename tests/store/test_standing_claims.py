"""A claim that a worker left standing is answered by the submission of what it waits for, and by nothing else."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tenure import Tenure
from tenure.engine.actions.submit import submit
from tenure.model.requests import SubmitSubject
from tenure.model.worker import Worker
from tenure.sdk.token import Token
from tenure.store.operation import Op
from tenure.store.postgres.runner import run
from tenure.store.postgres.standing import Answer, StandingClaim, answer
from tenure.store.postgres.store import PostgresStore
from tenure.store.records import Claimed
from tests.store.explained import Explained
from tests.waiting import until

STORE = PostgresStore()


@dataclass
class Waiting:
    """A worker that waits, as the database sees it: a session that listens, and the claim that it left."""

    worker: Worker
    claim: StandingClaim
    token: Token
    session: psycopg.Connection

    def heard(self) -> list[Answer]:
        """What it was told up to now."""
        self.session.execute(f"select pg_notify('{self.claim.channel}', '')")
        payloads = (notify.payload for notify in self.session.notifies())
        return [answer(self.claim, payload) for payload in iter(lambda: next(payloads), "")]

    def do(self, op: Op[Any]) -> Any:
        return run(self.session, op)


@pytest.fixture
def app(migrated_database: str) -> Iterator[Tenure]:
    with Tenure(migrated_database, actor="user:ada") as app:
        app.define_queue("q")
        yield app


@pytest.fixture
def waiting(app: Tenure) -> Iterator[Callable[..., Waiting]]:
    with ExitStack() as stack:

        def left(key: str = "w", queue_keys: Sequence[str] = ("q",), **spec: Any) -> Waiting:
            worker = app.register_worker(key, **spec)
            session = stack.enter_context(psycopg.connect(app.settings.dsn, autocommit=True))
            token = Token()
            claim = StandingClaim(
                worker.uid, worker.incarnation, queue_keys, token.digest, f"worker:{key}", None, secrets.randbits(63),
                f"tenure_{secrets.token_hex(16)}",
            )  # fmt: skip
            run(session, STORE.leave_claim(app.caller.tenant, claim, 0))
            return Waiting(worker, claim, token, session)

        yield left


def one(app: Tenure, query: str, *values: Any) -> Any:
    with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
        return connection.execute(query, values).fetchone()


def test_what_is_submitted_is_born_under_the_lease_of_the_worker_that_waits(app, waiting):
    worker = waiting()
    asked = {"n": 1.50, "text": "ä \x1f \"'\\", "deep": [{"a": None}]}
    made = app.submit(
        queue_key="q", properties=asked, priority=7, name="nine", next_action_key="act", correlation_id="c"
    )

    assert (made.state, made.revision, made.seq) == ("READY", 1, 1)
    [told] = worker.heard()
    assert told.item == next(iter(run(worker.session, STORE.claimed([told.lease]))))
    assert (told.item.subject, told.item.properties, told.item.priority) == (made.subject, asked, 7)
    app.complete(told.lease, worker=worker.worker, token=worker.token)
    assert [fact.type for fact in app.history(made.subject).facts] == [
        "subject.submitted",
        "lease.claimed",
        "execution.completed",
    ]
    assert app.verify().clean


def test_nothing_tells_it_from_what_is_submitted_and_then_claimed(app, waiting):
    """Every column of every table, but for what differs between any two subjects."""
    worker = waiting(max_concurrent_leases=2)
    app.define_queue("other")
    asked = {
        "properties": {"n": 1}, "priority": 7, "due_at": datetime(2999, 1, 1, tzinfo=UTC), "max_attempts": 9, "name": "nine",
        "next_action_key": "act", "payload_ref": "s3://x", "correlation_id": "c",
    }  # fmt: skip
    answered = app.submit(queue_key="q", **asked).subject
    claimed = app.submit(queue_key="other", **asked).subject
    [told] = worker.heard()
    app.claim(worker.worker, "other", start=True, token=worker.token)

    tables = {"execution": "uid", "attempt": "subject", "fact": "thread", "subject": "uid"}
    own = {"uid", "thread", "subject", "at", "created_at", "eligible_at", "claimed_at", "expires_at", "started_at", "hash", "head",
           "lease", "last_record", "position", "xid", "queue", "queue_key", "next_queue_key", "payload_hash", "actor"}  # fmt: skip
    for table, key in tables.items():
        query = f"select jsonb_agg(to_jsonb(t) order by to_jsonb(t) -> 'seq') from tenure.{table} t where t.{key} = %s"
        (first,), (second,) = one(app, query, answered), one(app, query, claimed)
        assert [_less(row, own) for row in first] == [_less(row, own) for row in second], table
        assert first
    assert told.lease == one(app, "select uid from tenure.attempt where subject = %s", answered)[0]


def _less(row: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def test_a_worker_that_has_work_is_not_given_more(app, waiting):
    worker = waiting()
    first, second = app.submit(queue_key="q"), app.submit(queue_key="q")
    [told] = worker.heard()
    assert told.item is not None
    assert told.item.subject == first.subject
    app.complete(told.lease, worker=worker.worker, token=worker.token)
    # The second comes first, and only a claim takes what waits.
    third = app.submit(queue_key="q")
    assert worker.heard() == []
    [lease] = app.claim(worker.worker, "q", start=True)
    assert lease.subject == second.subject
    app.complete(lease)
    [lease] = app.claim(worker.worker, "q", start=True)
    assert lease.subject == third.subject
    app.complete(lease)
    app.submit(queue_key="q")
    assert len(worker.heard()) == 1


def test_of_two_that_wait_each_is_given_one(app, waiting):
    workers = [waiting("a"), waiting("b")]
    for _ in range(3):
        app.submit(queue_key="q")
    assert [len(worker.heard()) for worker in workers] == [1, 1]


REQUESTS: dict[str, dict[str, Any]] = {
    "not ready": {"ready": False},
    "for later": {"ready_at": "2999-01-01T00:00:00+00:00"},
    "for several": {"slots": 2},
    "for a site": {"site": "lab"},
    "not for it": {"barred_workers": (1024,)},
    "in no queue": {"queue_key": None},
}


def test_what_needs_a_closer_look_waits_for_a_claim(app, waiting):
    worker = waiting()
    for name, request in REQUESTS.items():
        app.submit(**({"queue_key": "q"} | request))
        assert worker.heard() == [], name
        with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
            connection.execute("set session_replication_role = replica")
            connection.execute("delete from tenure.execution")
    app.submit(queue_key="q")
    assert len(worker.heard()) == 1


def test_many_at_once_are_claimed_in_batches(app, waiting):
    worker = waiting()
    app.submit_many([{"queue_key": "q"}, {"queue_key": "q"}])
    assert worker.heard() == []


def test_a_key_is_answered_as_ever(app, waiting):
    worker = waiting()
    made = app.submit(queue_key="q", idempotency_key="k", external_ref="r")
    again = app.submit(queue_key="q", idempotency_key="k", external_ref="r")
    assert (again.subject, again.seq, again.replayed) == (made.subject, 1, True)
    assert len(worker.heard()) <= 1
    assert one(app, "select count(*) from tenure.subject") == (1,)


@pytest.mark.parametrize("kept", [True, False])
def test_who_waits_for_the_same_key_of_an_open_transaction_keeps_no_worker_waiting(app, waiting, kept):
    worker = waiting()
    with ThreadPoolExecutor(1) as pool, psycopg.connect(app.settings.dsn) as theirs:
        first = app.within(theirs).submit(queue_key="q", idempotency_key="k")
        later = pool.submit(app.submit, queue_key="q", idempotency_key="k")
        waits = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
        until(lambda: one(app, waits) is not None)
        with psycopg.connect(app.settings.dsn) as elsewhere:
            elsewhere.execute("select from tenure.worker for update nowait")
        since = one(app, "select now()")[0]
        (theirs.commit if kept else theirs.rollback)()
        made = later.result(20)
    assert made.replayed is kept
    assert (made.subject == first.subject) is kept
    if not kept:
        [told] = worker.heard()
        assert told.item is not None
        assert told.item.claimed_at > since
        assert told.item == next(iter(run(worker.session, STORE.claimed([told.lease]))))
    assert app.verify().clean


@pytest.mark.parametrize("autocommit", [True, False])
def test_within_a_transaction_of_the_callers_no_lease_begins(app, waiting, autocommit):
    """It would run while nobody can know of it."""
    worker = waiting()
    with psycopg.connect(app.settings.dsn, autocommit=autocommit) as theirs, theirs.transaction():
        app.within(theirs).submit(queue_key="q")
    assert worker.heard() == []
    with app.transaction() as within:
        within.submit(queue_key="q")
    assert worker.heard() == []


def test_nor_where_other_statements_are_under_way(app, waiting):
    worker = waiting()
    with psycopg.connect(app.settings.dsn, autocommit=True) as theirs, theirs.pipeline():
        app.within(theirs).submit(queue_key="q")
    assert worker.heard() == []


def test_on_a_connection_of_the_callers_without_a_transaction_it_does(app, waiting):
    worker = waiting()
    with psycopg.connect(app.settings.dsn, autocommit=True) as theirs:
        app.within(theirs).submit(queue_key="q")
    assert len(worker.heard()) == 1


def test_where_claims_that_were_withdrawn_could_still_be_seen_none_is_answered(app, waiting):
    worker = waiting()
    with psycopg.connect(app.settings.dsn, autocommit=True) as theirs:
        theirs.execute("set default_transaction_isolation = 'repeatable read'")
        app.within(theirs).submit(queue_key="q")
    assert worker.heard() == []


CHANGES = {
    "it drains": "update tenure.worker set drain_requested = true",
    "it is disabled": "update tenure.worker set status = 'DISABLED'",
    "it was not heard of": "update tenure.worker set heartbeat_at = now() - interval '61 s'",
    "it began anew": "update tenure.worker set incarnation = 2",
    "the queue is paused": "update tenure.queue set enabled = false",
    "the queue is for people": "update tenure.queue set manual_only = true",
    "the queue wants more": "update tenure.queue set required_worker_capabilities = '{gpu}'",
    "the queue is elsewhere": "update tenure.queue set site_scope = '{lab}'",
    "the queue is for a platform": "update tenure.queue set platform_scope = '{p}'",
    "the queue is for an assay": "update tenure.queue set assay_scope = '{a}'",
    "the queue takes others": "update tenure.queue set eligible_states = '{FAILED_RETRYABLE}'",
    "it withdrew": "delete from tenure.standing_claim",
}


def test_a_worker_that_might_not_claim_is_not_given_anything(app, waiting):
    for number, (name, change) in enumerate(CHANGES.items()):
        queue_key = f"q{number}"
        app.define_queue(queue_key)
        worker = waiting(queue_key, [queue_key])
        with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
            connection.execute("set session_replication_role = replica")
            column = "worker_key" if "tenure.worker" in change else "queue_key"
            connection.execute(f"{change} where {column} = %s", [queue_key])
        made = app.submit(queue_key=queue_key)
        assert worker.heard() == [], name
        assert str(app.inspect(made.subject).situation.thread.envelope.state) == "READY", name


def test_what_lapsed_or_fell_due_comes_first(app, waiting):
    worker = waiting("w", ["q", "late"])
    app.define_queue("late")
    other = app.register_worker("other")
    app.submit_many([{"queue_key": "q"}, {"queue_key": "q"}])
    app.claim(other, "q", limit=2)
    with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
        connection.execute("set session_replication_role = replica")
        connection.execute("update tenure.attempt set expires_at = now() - interval '1 s'")
    app.submit(queue_key="q")
    assert worker.heard() == []

    app.submit(queue_key="late", ready_at="2999-01-01T00:00:00+00:00")
    with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
        connection.execute("set session_replication_role = replica")
        connection.execute("update tenure.execution set ready_at = now() - interval '1 s' where ready_at is not null")
    app.submit(queue_key="late")
    assert worker.heard() == []


def test_a_worker_that_is_gone_is_not_given_anything(app, waiting):
    worker = waiting()
    worker.session.close()
    made = app.submit(queue_key="q")
    assert str(app.inspect(made.subject).situation.thread.envelope.state) == "READY"


def test_nobody_waits_for_whoever_holds_the_workers_row(app, waiting):
    worker = waiting()
    with psycopg.connect(app.settings.dsn) as theirs:
        theirs.execute("select from tenure.worker for update")
        made = app.submit(queue_key="q")
        assert str(app.inspect(made.subject).situation.thread.envelope.state) == "READY"
    assert worker.heard() == []


def test_what_is_too_long_to_be_sent_is_read(app, waiting):
    worker = waiting()
    made = app.submit(queue_key="q", properties={"text": "ä" * 5000})
    [told] = worker.heard()
    assert told.item is None
    [item] = worker.do(STORE.claimed([told.lease]))
    assert isinstance(item, Claimed)
    assert item.subject == made.subject


def test_what_nobody_heard_of_is_found_under_its_token(app, waiting):
    worker = waiting()
    app.submit(queue_key="q")
    [told] = worker.heard()
    found = worker.do(STORE.taken_under(worker.worker.uid, worker.token.digest))
    assert list(found) == [told.lease]
    assert 0 <= found[told.lease] < 60
    assert worker.do(STORE.taken_under(worker.worker.uid, worker.token.digest, told.lease)) == {}
    assert worker.do(STORE.taken_under(worker.worker.uid, Token().digest)) == {}


def test_a_claim_that_is_left_anew_takes_the_place_of_the_former(app, waiting):
    former = waiting()
    worker = waiting("w", ["q", "other"])
    assert one(app, "select count(*), count(distinct spot) from tenure.standing_claim") == (2, 1)
    # Its former self still listens, and may not leave one any more.
    former.do(STORE.leave_claim(app.caller.tenant, former.claim, 0))
    assert one(app, "select count(*), min(incarnation) from tenure.standing_claim") == (2, 2)
    app.submit(queue_key="q")
    assert former.heard() == []
    assert len(worker.heard()) == 1
    worker.do(STORE.withdraw_claim(app.caller.tenant, former.claim))
    assert one(app, "select count(*) from tenure.standing_claim") == (2,)
    worker.do(STORE.withdraw_claim(app.caller.tenant, worker.claim))
    assert one(app, "select count(*) from tenure.standing_claim") == (0,)


def test_what_workers_left_that_are_gone_for_long_is_taken_away(app, waiting):
    for key in "abc":
        waiting(key)
    with psycopg.connect(app.settings.dsn, autocommit=True) as connection:
        connection.execute("set session_replication_role = replica")
        connection.execute(
            "update tenure.worker set heartbeat_at = now() - interval '2 hours' where worker_key in ('a', 'b')"
        )
    waiting("d")
    assert one(app, "select count(*) from tenure.standing_claim") == (2,)


def test_where_live_leases_are_looked_for_moves_on_with_the_worker(app, waiting):
    worker = waiting()
    app.submit(queue_key="q")
    [told] = worker.heard()
    # As if the worker did not hold it any more: nothing before that is looked at.
    worker.do(STORE.move_claim(app.caller.tenant, worker.claim, told.lease))
    app.submit(queue_key="q")
    assert len(worker.heard()) == 1


@pytest.mark.parametrize("there", [True, False], ids=["busy", "gone"])
def test_the_cost_does_not_depend_on_how_many_wait(app, there):
    """A thousand workers that left a claim, all at work or none of them there any more, cost no more than three."""
    first = app.register_worker("w")
    app.submit(queue_key="q")
    app.claim(first, "q", start=True)
    with psycopg.connect(app.settings.dsn, autocommit=True) as listening:
        pages = []
        for last in (2, 1000):
            _crowd(listening, first.uid, last)
            if there:
                listening.execute("select pg_advisory_lock(spot) from tenure.standing_claim")
            pages.append(_pages(app))
        few, many = pages
        assert many <= few * 1.5  # the indexes are a level deeper
    assert one(app, "select count(*) from tenure.standing_claim") == (1001,)
    assert one(app, "select count(*) from tenure.attempt where lease_status = 'ACTIVE'") == (1001,)


def _crowd(connection: psycopg.Connection, first: int, last: int) -> None:
    """So many more workers like the first one, each with a lease and a standing claim."""
    copied = """
        insert into tenure.{table} select (jsonb_populate_record(t, jsonb_build_object({changed}))).*
        from tenure.{table} t, generate_series(1, %(last)s) n where t.{key} = %(first)s on conflict do nothing"""
    values = {"first": first, "last": last}
    connection.execute("set session_replication_role = replica")
    for table, key, changed in (
        ("worker", "uid", "'uid', t.uid + 10 * n, 'worker_key', 'w' || n"),
        ("attempt", "worker", "'uid', t.uid + 10 * n, 'worker', t.worker + 10 * n, 'subject', t.subject + 10 * n"),
    ):
        connection.execute(copied.format(table=table, key=key, changed=changed), values)
    connection.execute(
        "insert into tenure.standing_claim select w.tenant, 'q', 1000 * w.uid, w.uid, 1, 'tenure_' || md5(w.uid::text), "
        "sha256('t'), 'worker:w', null, 0 from tenure.worker w on conflict do nothing"
    )
    connection.execute("reset session_replication_role")
    connection.execute("analyze tenure.standing_claim, tenure.worker, tenure.attempt")


def _pages(app: Tenure) -> int:
    """Those that a submission touches, the most of some."""
    explained = Explained(app.settings.dsn, "force_generic_plan")
    try:
        counts = []
        for _ in range(6):
            _, ran = explained.run(submit(app.caller, SubmitSubject(queue_key="q")))
            counts.append(sum(each.buffers for each in ran))
        return max(counts[1:])  # the first one reads the catalog
    finally:
        explained.close()
