"""Events that an open transaction holds back say so: nothing is skipped, and nobody wonders (decision 11)."""

from __future__ import annotations

import psycopg

from tenure.model.visibility import Reason
from tests.ledger.post import Post
from tests.ledger.receiver import Receiver


def held(post: Post) -> list[Reason]:
    return [reason for reason in post.client.explain_subscription("all") if reason.code == "transaction_open"]


def test_a_transaction_that_stays_open_is_named_until_it_ends(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url)
    with psycopg.connect(post.dsn) as connection:
        connection.execute("select pg_current_xact_id()")
        told = post.work(1, facts=2)
        since = post.clock()
        assert held(post) == [], "a moment is nothing to tell of"

        post.clock.advance(minutes=1)
        post.drain()
        assert receiver.taken == []
        (reason,) = held(post)
        assert (reason.blocking, reason.evidence["held_since"]) == (True, since)
        assert "delivers" not in [each.code for each in post.client.explain_subscription("all")]

    assert held(post) == []
    post.drain()
    assert [event["id"] for event in receiver.taken] == told


def test_a_transaction_that_only_reads_holds_nothing_back(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url)
    with psycopg.connect(post.dsn) as connection:
        connection.execute("select count(*) from tenure.fact")
        told = post.work(1)
        post.clock.advance(minutes=1)

        assert held(post) == []
        post.drain()
        assert [event["id"] for event in receiver.taken] == told


def test_what_is_waiting_to_be_sent_without_one_is_not_called_held(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url)
    post.work(1)
    post.clock.advance(minutes=1)

    assert held(post) == []
