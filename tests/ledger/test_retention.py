"""What is no fact is kept for as long as it was promised, and no longer; facts are kept (docs/decisions/0018)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest

from tenure.ledger.retention import BATCH
from tenure.model.errors import IdempotencyConflict, InvalidRequest, MessageConflict
from tenure.model.retention import KINDS, MOST_DAYS
from tenure.sdk.inbox import Message
from tests.ledger.post import Post
from tests.ledger.receiver import Receiver


def receives(post: Post) -> list[str]:
    """What came of messages, each once."""
    done: list[str] = []

    @post.client.on("thing.happened")
    def happened(message: Message) -> None:
        done.append(message.message_id)

    return done


def clean(post: Post) -> int:
    return post.client.clean()


def counted(post: Post, table: str) -> int:
    ((count,),) = post.rows(f"select count(*) from tenure.{table} where tenant = %s", post.client.caller.tenant)
    return int(count)


def test_a_message_is_known_for_as_long_as_was_promised(post: Post) -> None:
    done = receives(post)
    assert not post.client.receive("bus", "m-1", "thing.happened", {"n": 1}).duplicate
    post.clock.advance(days=90)
    assert clean(post) == 0
    assert post.client.receive("bus", "m-1", "thing.happened", {"n": 1}).duplicate
    with pytest.raises(MessageConflict):
        post.client.receive("bus", "m-1", "thing.happened", {"n": 2})

    post.clock.advance(seconds=1)
    assert clean(post) == 1
    assert not post.client.receive("bus", "m-1", "thing.happened", {"n": 1}).duplicate
    assert done == ["m-1", "m-1"]


def test_attempts_that_failed_are_forgotten_but_neither_what_waits_nor_what_was_given_up_nor_any_fact(
    post: Post,
) -> None:
    with Receiver() as receiver:
        post.subscribe(receiver.url)
        told = post.work(3, facts=2)
        receiver.answer = lambda event: {told[0]: 500, told[1]: 422}.get(event["id"], 200)
        post.drain()
        facts = counted(post, "fact")
        assert counted(post, "delivery") == 2
        post.clock.advance(days=31)
        assert clean(post) == 2
        assert (counted(post, "delivery"), counted(post, "fact")) == (0, facts)
        assert post.standing().open_dead_letters == 1
        assert [event.event for event in post.client.waiting_events("all")] == [told[0]]
        receiver.answer = lambda _: 200
        post.drain()
        assert sorted(event["id"] for event in receiver.taken) == sorted(set(told) - {told[1]})


def test_it_is_set_by_a_fact_and_takes_effect_with_the_next_cleaning(post: Post) -> None:
    receives(post)
    post.client.receive("bus", "m-1", "thing.happened", {})
    post.clock.advance(days=10)
    set_ = post.client.set_retention("inbox", days=7, reason="a small disk", idempotency_key="k")
    assert (set_.kind, set_.days) == ("inbox", 7)
    assert (
        post.client.set_retention("inbox", days=7, reason="a small disk", idempotency_key="k").set_seq == set_.set_seq
    )
    with pytest.raises(IdempotencyConflict):
        post.client.set_retention("inbox", days=8, reason="a small disk", idempotency_key="k")
    fact = post.client.facts(post.client.caller.tenant)[-1]
    assert (fact.type, fact.actor, fact.data) == (
        "tenant.retention_set", "user:ada", {"kind": "inbox", "days": 7, "reason": "a small disk"},
    )  # fmt: skip
    assert clean(post) == 1
    (inbox, delivery) = post.client.retention()
    assert (inbox.days, inbox.cleared, delivery.days, delivery.cleared) == (7, 1, 30, 0)
    assert inbox.cleared_until == post.clock() - timedelta(days=10)


@pytest.mark.parametrize(("kind", "days"), [("inbox", 6), ("delivery", 0), ("inbox", MOST_DAYS + 1), ("fact", 30)])
def test_what_would_break_the_promise_is_refused(post: Post, kind: Any, days: int) -> None:
    with pytest.raises(InvalidRequest):
        post.client.set_retention(kind, days=days)
    assert [each.set_seq for each in post.client.retention()] == [None, None]


def test_the_database_and_the_model_promise_the_same(post: Post) -> None:
    assert {each.kind: each.days for each in post.client.retention()} == {k: v.default for k, v in KINDS.items()}
    for kind, kept in KINDS.items():
        for days, code in ((kept.least - 1, "23514"), (MOST_DAYS + 1, "23514"), (kept.least, "TN003")):
            with psycopg.connect(post.dsn) as connection, pytest.raises(psycopg.Error) as refused:
                connection.execute(
                    "insert into tenure.retention values (%s, %s, %s, 1)", [post.client.caller.tenant, kind, days]
                )
            assert refused.value.sqlstate == code


@pytest.mark.parametrize("statement", [
    "delete from tenure.inbox where tenant = %s", "truncate tenure.inbox", "update tenure.inbox set source = 'x' where tenant = %s",
    "insert into tenure.cleared values (%s, 'inbox', now() + interval '1 d', 1)",
])  # fmt: skip
def test_what_is_younger_is_removed_by_nobody(post: Post, statement: str) -> None:
    receives(post)
    post.client.receive("bus", "m-1", "thing.happened", {})
    values = [post.client.caller.tenant] if "%s" in statement else None
    with psycopg.connect(post.dsn) as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute("select set_config('tenure.now', %s, false)", [post.clock().isoformat()])
        connection.execute(statement, values)
    assert refused.value.sqlstate in ("TN001", "TN002")


def test_it_is_removed_in_small_batches_of_ones_own_tenant_alone(post: Post, shared_database: str) -> None:
    other = Post(shared_database)
    with psycopg.connect(post.dsn, autocommit=True) as connection:
        for each in (post, other):
            connection.execute(
                "insert into tenure.inbox select %s, 'bus', n::text, sha256('x'), 'user:ada', %s from generate_series(1, %s) n",
                [each.client.caller.tenant, post.clock(), BATCH + 5],
            )  # fmt: skip
    post.clock.advance(days=91)
    assert [clean(post), clean(post), clean(post)] == [BATCH, 5, 0]
    assert (counted(post, "inbox"), counted(other, "inbox")) == (0, BATCH + 5)
    other.close()


def test_a_relay_cleans_the_tenants_that_it_sends_for(post: Post) -> None:
    receives(post)
    post.client.receive("bus", "m-1", "thing.happened", {})
    post.clock.advance(days=91)
    with Receiver() as receiver:
        post.subscribe(receiver.url)
        post.drain(2)
    assert counted(post, "inbox") == 0


def test_what_waited_of_a_subscription_that_was_removed_is_forgotten_an_hour_later(post: Post) -> None:
    with Receiver(answer=lambda _: 500) as receiver:
        post.subscribe(receiver.url, "gone", group_by="correlation")
        post.batch("import 1", 3)
        post.drain()
        post.client.remove_subscription("gone")
        post.subscribe(receiver.url, "stays", group_by="correlation")
        post.batch("import 2", 3)
        post.drain()
        assert (counted(post, "parked_event"), counted(post, "held_event")) == (2, 4)
        post.clock.advance(minutes=61)
        post.drain(2)
        assert (counted(post, "parked_event"), counted(post, "held_event")) == (1, 2)
