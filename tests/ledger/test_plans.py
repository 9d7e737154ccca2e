"""What the ledger reads: a few rows by index, whatever lies in the way (design 07, Plans that hold)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from tenure.sdk.session import opened
from tenure.store.postgres.statements import text
from tests.ledger.post import Post
from tests.store.plan import Plan

FACTS = 60_000
_FILL = """
insert into tenure.fact (thread, seq, tenant, at, type, actor, hash)
select 2 ^ 40 + n / 20 * 2, n %% 20 + 1, %s, now(),
    case when n %% 100 = 0 then 'hold.placed' else 'lease.renewed' end, 'user:ada', ''
from generate_series(0, %s - 1) n
"""

#: A crowd that was decided on, and two of the oldest that were not.
_GIVEN_UP = """
insert into tenure.event_dead_letter (uid, tenant, subscription, position, thread, fact_seq, type, status, code, attempts,
    first_failed_at, opened_at, resolved_at, resolved_by, resolved_seq)
select 2 ^ 42 + 2 * n, %(tenant)s, %(subscription)s, n, 2 ^ 40, 1, 'hold.placed', case when n > 2 then 'IGNORED' else 'OPEN' end,
    'http_422', 1, now(), now(), case when n > 2 then now() end, case when n > 2 then 'user:ada' end, case when n > 2 then 1 end
from generate_series(1, 20000) n
"""


@pytest.fixture(scope="module")
def crowded(shared_database: str) -> Iterator[tuple[psycopg.Connection[Any], Post]]:
    """A subscription behind the facts of a tenant and before those of another, on a connection as a relay has it."""
    post = Post(shared_database)
    with psycopg.connect(shared_database, autocommit=True) as connection:
        for tenant in (post.client.caller.tenant, 1):
            connection.execute("set session_replication_role = replica")
            connection.execute(_FILL.replace("2 ^ 40", f"2 ^ 40 + {tenant} * 1000000"), [tenant, FACTS])
            connection.execute("set session_replication_role = origin")
            if tenant != 1:
                post.subscribe("http://127.0.0.1:9/", types=["hold.placed"])
        connection.execute("analyze tenure.fact")
        opened(connection)
        yield connection, post
    post.close()


def plan_of(connection: psycopg.Connection[Any], name: str, /, **params: Any) -> Plan:
    connection.execute("deallocate all", prepare=False)
    document = connection.execute(f"explain (analyze, buffers, format json) {text(name)}", params).fetchone()
    assert document is not None
    return Plan(name, document[0][0]["Plan"])


def test_a_page_is_read_from_the_cursor_on(crowded: tuple[psycopg.Connection[Any], Post]) -> None:
    connection, post = crowded
    uid, tenant = post.standing().subscription.uid, post.client.caller.tenant
    (begin,) = post.rows("select min(position) from tenure.fact where tenant = %s and thread > 2 ^ 40", tenant)[0]
    wanted = {"subscription": uid, "tenant": tenant, "types": ["hold.placed"], "queues": None, "grouped": False}

    plan = plan_of(connection, "wanted_facts", **wanted, after=begin + 10_000, up_to=begin + 60_000, limit=50)
    assert plan.indexes("fact") == {"fact_position"}
    assert plan.rows_read() <= 50 * 100 + 10

    at_the_end = plan_of(connection, "wanted_facts", **wanted, after=begin + 59_990, up_to=begin + 60_000, limit=50)
    assert at_the_end.rows_read() <= 10


def test_the_groups_of_a_page_are_looked_up_for_its_events_alone(
    crowded: tuple[psycopg.Connection[Any], Post],
) -> None:
    connection, post = crowded
    uid, tenant = post.standing().subscription.uid, post.client.caller.tenant
    (begin,) = post.rows("select min(position) from tenure.fact where tenant = %s and thread > 2 ^ 40", tenant)[0]
    wanted = {"subscription": uid, "tenant": tenant, "types": ["hold.placed"], "queues": None, "grouped": True}

    plan = plan_of(connection, "wanted_facts", **wanted, after=begin + 10_000, up_to=begin + 60_000, limit=50)

    assert plan.misdeeds() == []
    assert plan.indexes("subject") == {"subject_pkey"}
    assert plan.rows_read() <= 50 * 100 + 10


def test_what_waits_of_a_group_is_read_from_its_head_on_whatever_else_waits(
    crowded: tuple[psycopg.Connection[Any], Post],
) -> None:
    connection, post = crowded
    uid, tenant = post.standing().subscription.uid, post.client.caller.tenant
    connection.execute("set session_replication_role = replica")
    connection.execute(
        "insert into tenure.held_event (subscription, group_key, position, tenant)"
        " select %s, 'import ' || f.position %% 3, f.position, %s from tenure.fact f where f.tenant = %s and f.thread > 2 ^ 40",
        [uid, tenant, tenant],
    )
    connection.execute("set session_replication_role = origin")
    connection.execute("analyze tenure.held_event")
    ((head,),) = post.rows("select min(position) + 999 from tenure.held_event where group_key = 'import 1'")
    wanted = {"subscription": uid, "tenant": tenant, "types": ["hold.placed", "lease.renewed"], "queues": None}

    plan = plan_of(connection, "wanted_of_group", **wanted, begin=head, group_key="import 1", limit=101)

    assert plan.misdeeds() == []
    assert plan.indexes("fact") == {"fact_position"}
    assert plan.rows_read({"fact", "held_event"}) <= 2 * 102
    assert len(plan.scans({"held_event"})) == 1


def test_what_a_group_lets_go_of_is_found_by_its_key(crowded: tuple[psycopg.Connection[Any], Post]) -> None:
    connection, post = crowded
    uid = post.standing().subscription.uid
    with connection.transaction(force_rollback=True):
        connection.execute("set local session_replication_role = replica")
        connection.execute(
            "insert into tenure.held_event (subscription, group_key, position, tenant)"
            " select %s, 'lot ' || n %% 500, n, 1 from generate_series(1, 50000) n", [uid],
        )  # fmt: skip
        connection.execute("analyze tenure.held_event")
        plan = plan_of(connection, "release_held", subscription=uid, groups=["lot 7"], ends=[5000])
        assert plan.rows_read({"held_event"}) <= 11
        assert plan.scans({"held_event"})[0]["Node Type"] != "Seq Scan"


def test_what_follows_in_a_thread_is_read_from_there(crowded: tuple[psycopg.Connection[Any], Post]) -> None:
    connection, post = crowded
    tenant = post.client.caller.tenant
    ((position, thread),) = post.rows(
        "select position, thread from tenure.fact where tenant = %s and type = 'hold.placed' and thread > 2 ^ 40 limit 1",
        tenant,
    )
    wanted = {"subscription": 1, "tenant": tenant, "types": ["hold.placed", "lease.renewed"], "queues": None}

    plan = plan_of(connection, "wanted_of_thread", **wanted, thread=thread, begin=position, up_to=2**62, limit=101)

    assert plan.misdeeds() == []
    assert plan.rows_read() <= 21


def test_the_oldest_that_was_not_sent_is_found_from_the_cursor_on(
    crowded: tuple[psycopg.Connection[Any], Post],
) -> None:
    connection, post = crowded
    standing = post.standing()

    plan = plan_of(
        connection, "oldest_undelivered", uid=standing.subscription.uid, tenant=post.client.caller.tenant, stride=1000
    )

    assert plan.misdeeds() == []
    assert plan.rows_read() <= 1010


def test_a_look_at_all_subscriptions_reads_no_facts(crowded: tuple[psycopg.Connection[Any], Post]) -> None:
    connection, _ = crowded
    assert plan_of(connection, "relay_watch", tenant=None).scans() == []


@pytest.fixture
def waits(crowded: tuple[psycopg.Connection[Any], Post]) -> Iterator[tuple[psycopg.Connection[Any], dict[str, int]]]:
    """A thousand events that wait, each of a thread of its own, of which one was given up by hand."""
    connection, post = crowded
    uid, tenant = post.standing().subscription.uid, post.client.caller.tenant
    connection.execute("begin")
    connection.execute("set local session_replication_role = replica")
    connection.execute(
        "insert into tenure.parked_event"
        " (subscription, position, tenant, thread, alone, attempts, tries, next_attempt_at, give_up_seq)"
        " select %(uid)s, f.position, %(tenant)s, f.thread, false, 1, 1, now() + interval '1 h',"
        "   case when f.thread %% 1009 = 0 then 1 end"
        " from tenure.fact f where f.tenant = %(tenant)s and f.thread > 2 ^ 40 and f.seq = 1 limit 1000",
        {"uid": uid, "tenant": tenant},
    )
    connection.execute("analyze tenure.parked_event")
    yield connection, {"subscription": uid, "tenant": tenant}
    connection.execute("rollback")


def test_what_an_open_transaction_holds_back_is_looked_for_among_the_next_positions(
    crowded: tuple[psycopg.Connection[Any], Post],
) -> None:
    connection, post = crowded
    uid, tenant = post.standing().subscription.uid, post.client.caller.tenant

    plan = plan_of(connection, "held_back", uid=uid, tenant=tenant, stride=1000)
    assert (plan.misdeeds(), plan.indexes("fact")) == ([], {"fact_position"})
    assert plan.rows_read({"fact"}) <= 1000


def test_what_waits_is_listed_and_found_by_key(waits: tuple[psycopg.Connection[Any], dict[str, int]]) -> None:
    connection, of = waits
    both = {"fact", "parked_event"}
    listed = plan_of(connection, "waiting_events", **of, after=0, limit=51)
    assert (listed.misdeeds(), listed.indexes("fact")) == ([], {"fact_position"})
    assert listed.rows_read(both) <= 2 * 51
    ((thread,),) = connection.execute("select thread from tenure.parked_event order by position offset 500 limit 1")
    one = plan_of(connection, "waiting_event", **of, thread=thread, seq=1)
    assert (one.misdeeds(), one.rows_read(both)) == ([], 2)
    by_hand = plan_of(connection, "given_up_by_hand", **of, limit=200)
    assert by_hand.rows_read(both) <= 1
    assert plan_of(connection, "parked_due", **of, limit=200).rows_read(both) == 0


def test_a_request_that_came_before_is_found_by_the_name_and_the_key(
    crowded: tuple[psycopg.Connection[Any], Post],
) -> None:
    connection, post = crowded
    post.client.pause_subscription("all", idempotency_key="k")
    post.client.resume_subscription("all")
    asked = {"tenant": post.client.caller.tenant, "name": "all", "types": ["subscription.changed"], "key": "k"}

    plan = plan_of(connection, "prior_of_subscription", **asked)

    assert (plan.misdeeds(), plan.indexes("fact")) == ([], {"fact_idempotency"})
    assert plan.rows_read() == 1


def test_a_page_of_what_was_given_up_is_all_that_is_read(crowded: tuple[psycopg.Connection[Any], Post]) -> None:
    connection, post = crowded
    asked = {"subscription": post.standing().subscription.uid, "tenant": post.client.caller.tenant, "before": 2**62}
    connection.execute("set session_replication_role = replica")
    connection.execute(_GIVEN_UP, asked)
    connection.execute("set session_replication_role = origin")
    connection.execute("analyze tenure.event_dead_letter")

    for name, many in (("open_event_dead_letters", 2), ("event_dead_letters", 51)):
        plan = plan_of(connection, name, **asked, limit=51)
        assert plan.misdeeds() == []
        assert plan.rows_read({"event_dead_letter"}) == many, name


@pytest.mark.parametrize(("kind", "index"), [("inbox", "inbox_kept"), ("delivery", "delivery_kept")])
def test_a_batch_of_what_is_kept_no_longer_is_found_by_its_age(
    crowded: tuple[psycopg.Connection[Any], Post], kind: str, index: str
) -> None:
    connection, post = crowded
    columns = {
        "inbox": "(tenant, source, message_id, content_hash, actor, received_at)"
        " select %s, 'bus', n::text, sha256('x'), 'user:ada'",
        "delivery": "(tenant, subscription, position, thread, attempts, outcome, code, at)"
        " select %s, 1, n, n, 1, 'failed', 'http_500'",
    }  # fmt: skip
    with connection.transaction(force_rollback=True):
        for tenant in (post.client.caller.tenant, 1):
            connection.execute(
                f"insert into tenure.{kind} {columns[kind]}, now() - make_interval(days => n / 200)"
                " from generate_series(1, 30000) n",
                [tenant],
            )
        connection.execute(f"analyze tenure.{kind}")
        plan = plan_of(connection, f"clean_{kind}", tenant=post.client.caller.tenant, limit=100)
    assert [n["Node Type"] for n in plan.scans({kind}) if n["Node Type"] == "Seq Scan"] == []
    assert index in {n.get("Index Name") for n in plan.scans({kind})}
    assert plan.rows_read({kind}) <= 2 * 100


def test_what_waited_of_removed_subscriptions_is_found_by_their_keys(
    waits: tuple[psycopg.Connection[Any], dict[str, int]],
) -> None:
    connection, of = waits
    plan = plan_of(connection, "forget_removed", tenant=of["tenant"], limit=100)
    assert (
        plan.rows_read({"parked_event", "held_event"}) == 0
    )  # none was removed: what others wait for is not looked at
    connection.execute("update tenure.subscription set enabled = false, retired_at = now() - interval '2 h'")
    plan = plan_of(connection, "forget_removed", tenant=of["tenant"], limit=100)
    assert plan.rows_read({"parked_event"}) <= 2 * 100
    assert [n for n in plan.scans({"parked_event", "held_event"}) if n["Node Type"] == "Seq Scan"] == []
