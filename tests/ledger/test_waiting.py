"""What waits of a subscription is told plainly, and a person can give it up (design 05, Out; docs/decisions/0018)."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg
import pytest

from tenure.model.errors import Conflict, InvalidRequest, NotFound
from tests.ledger.post import Post
from tests.ledger.receiver import Receiver


def ids(receiver: Receiver) -> list[str]:
    return [event["id"] for event in receiver.taken]


def codes(post: Post) -> list[str]:
    return [reason.code for reason in post.client.explain_subscription("all")]


def sick(post: Post, receiver: Receiver, *, minutes: int = 3, **more: Any) -> list[str]:
    """A subscription whose first event is answered with 500, alone, minute by minute; the events of its thread."""
    post.subscribe(receiver.url, **more)
    told = post.work(1, facts=3)
    receiver.answer = lambda event: 500 if event["id"] == told[0] else 200
    post.drain(minutes, then_seconds=60)
    return told


def test_an_event_that_fails_alone_is_told_with_its_attempts_its_last_answer_and_the_next_try(
    post: Post, receiver: Receiver
) -> None:
    told = sick(post, receiver, minutes=60)

    (event,) = post.client.waiting_events("all")
    assert (event.event, event.type, event.code) == (told[0], "subject.submitted", "http_500")
    assert (event.attempts, event.alone, event.give_up_seq) == (1, False, None)
    assert event.tries >= 50
    assert event.failed_at is not None
    assert event.next_attempt_at > event.failed_at

    no_relay, reason = post.client.explain_subscription("all")
    assert no_relay.code == "no_relay"  # it was stopped in the end
    assert (reason.code, reason.blocking) == ("event_fails", True)
    assert f"{told[0]} (subject.submitted) failed {event.tries} times" in reason.message
    assert "the last with http_500" in reason.message
    assert "1 of 10 attempts count" in reason.message
    assert "tried for ever" in reason.message
    assert f"subscription give-up all {told[0]}" in reason.remedy


def test_what_a_person_gives_up_is_dead_lettered_unsent_with_who_and_why_and_its_thread_goes_on(
    post: Post, receiver: Receiver
) -> None:
    told = sick(post, receiver)
    receiver.came.clear()

    given = post.client.give_up_event("all", told[0], reason="it has a name that they cannot read", idempotency_key="k")
    assert given == post.client.give_up_event(
        "all", told[0], reason="it has a name that they cannot read", idempotency_key="k"
    )
    with pytest.raises(Conflict, match="already"):
        post.client.give_up_event("all", told[0], reason="so do I")
    assert codes(post) == ["no_relay", "event_given_up"]
    post.drain()

    assert [each.event["id"] for each in receiver.came] == told[1:]
    (letter,) = post.client.event_dead_letters("all")
    assert (letter.status, letter.code, letter.attempts) == ("OPEN", "given_up_by_hand", 1)
    facts = [fact for fact in post.client.facts(letter.subscription) if fact.type != "subscription.defined"]
    asked, written = facts
    assert (asked.type, asked.actor) == ("subscription.give_up_requested", "user:ada")
    assert asked.data == {
        "position": letter.position, "event": told[0], "reason": "it has a name that they cannot read",
    }  # fmt: skip
    assert (written.type, written.data["asked_seq"]) == ("subscription.dead_lettered", asked.seq)
    assert post.client.give_up_event("all", told[0], reason=given.reason, idempotency_key="k") == given

    receiver.answer = lambda _: 200
    post.client.redeliver_event("all", letter)
    post.drain()
    assert ids(receiver) == [*told[1:], told[0]]


def test_it_is_given_up_though_the_receiver_is_away_and_the_subscription_would_stop_at_it(
    post: Post, receiver: Receiver
) -> None:
    post.subscribe(receiver.url, on_poison="stop", max_attempts=1000)
    told = post.work(3)
    receiver.answer = lambda event: 500 if event["id"] == told[0] else 200
    post.drain()
    receiver.down()
    post.clock.advance(minutes=1)
    post.drain()
    assert post.standing().failing_with == "unreachable"

    post.client.give_up_event("all", told[0], reason="of no use")
    post.drain()
    assert post.client.waiting_events("all") == []
    assert post.standing().open_dead_letters == 1
    assert post.standing().subscription.enabled

    receiver.up()
    post.clock.advance(minutes=2)
    post.drain()
    assert ids(receiver) == told[1:]


def test_a_group_goes_on_behind_what_was_given_up(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url, group_by="correlation")
    told = post.batch("import 1", 5)
    receiver.answer = lambda event: 500 if event["id"] == told[0] else 200
    post.drain()
    (event,) = post.client.waiting_events("all")
    assert event.group_key == "import 1"
    (_, reason) = post.client.explain_subscription("all")
    assert "Its group 'import 1' waits for it" in reason.message

    post.client.give_up_event("all", event, reason="of no use")
    post.drain()
    assert ids(receiver) == told[1:]
    assert post.rows("select 1 from tenure.held_event where tenant = %s", post.client.caller.tenant) == []


def test_an_event_that_gets_through_while_it_is_given_up_is_delivered_and_no_dead_letter_says_otherwise(
    post: Post, receiver: Receiver
) -> None:
    told = sick(post, receiver)
    post.clock.advance(minutes=10)

    def given_up_meanwhile(event: dict[str, Any]) -> int:
        if event["id"] == told[0]:
            post.client.give_up_event("all", told[0], reason="I could not wait")
        return 200

    receiver.answer = given_up_meanwhile
    post.drain()

    assert ids(receiver) == told
    assert post.client.event_dead_letters("all", open_only=False) == []
    assert post.client.waiting_events("all") == []


def test_one_that_fails_once_more_while_it_is_given_up_is_given_up_all_the_same(post: Post, receiver: Receiver) -> None:
    told = sick(post, receiver)
    post.clock.advance(minutes=10)
    asked: list[str] = []

    def given_up_meanwhile(event: dict[str, Any]) -> int:
        if event["id"] != told[0]:
            return 200
        if not asked:
            asked.append(post.client.give_up_event("all", told[0], reason="I could not wait").event)
        return 500

    receiver.answer = given_up_meanwhile

    async def both() -> None:
        async with post.relay() as relay:
            await relay.drain()
            await relay.drain()

    asyncio.run(both())
    assert ids(receiver) == told[1:]
    assert len(post.client.event_dead_letters("all")) == 1


def test_what_does_not_wait_cannot_be_given_up(post: Post, receiver: Receiver) -> None:
    told = sick(post, receiver)
    with pytest.raises(NotFound, match="No event"):
        post.client.give_up_event("all", told[1], reason="it is behind")
    with pytest.raises(NotFound):
        post.client.give_up_event("other", told[0], reason="x")
    for odd in ("SX-1", "SX-1T8Z", "SX-1T8Z/", "SX-1T8Z/x", "/1", told[0] + "0000000000"):
        with pytest.raises(InvalidRequest):
            post.client.give_up_event("all", odd, reason="x")


def test_nobody_gives_up_an_event_without_a_fact(post: Post, receiver: Receiver) -> None:
    sick(post, receiver)
    uid = post.standing().subscription.uid
    with psycopg.connect(post.dsn) as connection, pytest.raises(psycopg.Error) as refused:
        connection.execute("update tenure.parked_event set give_up_seq = 1 where subscription = %s", [uid])
    assert refused.value.sqlstate == "TN003"


def test_a_subscription_says_what_its_events_wait_for(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url, lane="delayed", window_seconds=60)

    async def led() -> None:
        async with post.relay() as relay:
            await relay.drain()
            assert codes(post) == ["window", "delivers"]
            receiver.answer = lambda _: 503
            post.work(1)
            post.clock.advance(minutes=2)
            await relay.drain()
            await relay.drain()
            receiver_away, window = post.client.explain_subscription("all")
            assert (receiver_away.code, window.code) == ("receiver_away", "window")
            assert "(http_503, 1 times in a row)" in receiver_away.message
            receiver.answer = lambda _: 200
            post.clock.advance(minutes=2)
            await relay.drain()
            receiver.answer = lambda _: 422
            post.work(1)
            post.clock.advance(minutes=2)
            await relay.drain()
            assert codes(post) == ["gave_up", "window", "delivers"]
            post.client.pause_subscription("all")
            assert codes(post) == ["subscription_rests", "gave_up", "window"]

    asyncio.run(led())
