"""Events leave at least once, in the order of their thread, and nothing is lost (design 05, Out)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.ledger.post import Post, by_thread, threads_of
from tests.ledger.receiver import Receiver


def ids(events: list[dict[str, Any]]) -> list[str]:
    return [event["id"] for event in events]


def test_every_event_comes_once_and_in_the_order_of_its_thread(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url)
    told = post.work(20, facts=3)

    post.drain()

    assert by_thread(receiver.taken) == threads_of(told)
    assert Counter(ids(receiver.taken)).most_common(1)[0][1] == 1
    standing = post.standing()
    assert (standing.delivered, standing.failed, standing.oldest_at) == (60, 0, None)


def test_what_was_told_before_a_subscription_is_not_sent_unless_it_begins_there(post: Post, receiver: Receiver) -> None:
    before = post.work(2)
    post.subscribe(receiver.url, "new")
    post.subscribe(receiver.url, "old", start="beginning")
    told = post.work(1)

    post.drain()

    since = told[len(before) :]
    assert Counter(ids(receiver.taken)) == Counter(before) + Counter(since) + Counter(since)


@pytest.mark.slow
def test_a_receiver_that_is_down_for_an_hour_gets_everything_in_order_and_nothing_is_given_up(
    post: Post, receiver: Receiver
) -> None:
    post.subscribe(receiver.url)
    receiver.down()
    post.drain(60, then_seconds=60, meanwhile=lambda: post.work(2, facts=2))
    told = post.told()

    standing = post.standing()
    assert receiver.taken == []
    assert (standing.delivered, standing.open_dead_letters, standing.parked) == (0, 0, 0)
    assert standing.failing_with == "unreachable"
    assert 20 <= standing.failed <= 60 + 10  # it was tried all the time, and not for each event

    receiver.up()
    post.clock.advance(minutes=1)
    post.drain()

    assert by_thread(receiver.taken) == threads_of(told)
    assert len(receiver.taken) == len(told) == 240
    standing = post.standing()
    assert (standing.delivered, standing.failures, standing.oldest_at) == (240, 0, None)


@pytest.mark.parametrize("status", [500, 503, 429, 404, 401])
def test_a_receiver_that_answers_nothing_but_errors_for_days_loses_nothing(
    post: Post, receiver: Receiver, status: int
) -> None:
    post.subscribe(receiver.url, max_attempts=2)
    receiver.answer = lambda _: status
    told = post.work(20, facts=2)
    post.drain(30, then_seconds=2 * 3600)
    assert post.standing().open_dead_letters == 0
    assert 0 < len(receiver.came) < 200

    receiver.answer = lambda _: 200
    post.drain()

    assert by_thread(receiver.taken) == threads_of(told)
    assert post.standing().parked == 0


def test_an_event_that_is_refused_is_given_up_alone_and_the_others_go_on(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url)
    told = post.work(5, facts=3)
    poison = told[1]
    receiver.answer = lambda event: 422 if event["id"] == poison else 200

    post.drain()

    assert sorted(ids(receiver.taken)) == sorted(set(told) - {poison})
    (letter,) = post.client.event_dead_letters("all")
    assert (letter.status, letter.code, letter.http_status, letter.type) == (
        "OPEN",
        "http_422",
        422,
        "subject.submitted",
    )
    assert ids([each.event for each in receiver.came]).count(poison) == 1
    types = [fact.type for fact in post.client.facts(post.standing().subscription.uid)]
    assert types == ["subscription.defined", "subscription.dead_lettered"]


def test_an_event_that_fails_while_others_get_through_holds_back_its_thread_and_is_given_up_in_the_end(
    post: Post, receiver: Receiver
) -> None:
    post.subscribe(receiver.url, max_attempts=3)
    told = post.work(4, facts=2)
    sick = told[0]
    receiver.answer = lambda event: 500 if event["id"] == sick else 200
    behind = threads_of(told)[sick.partition("/")[0]][1]

    post.drain()
    assert sorted(ids(receiver.taken)) == sorted(set(told) - {sick, behind})
    assert post.standing().parked == 1

    post.drain(5, then_seconds=10, meanwhile=lambda: post.work(1))

    assert behind in ids(receiver.taken)
    assert sick not in ids(receiver.taken)
    (letter,) = post.client.event_dead_letters("all")
    assert (letter.attempts, letter.code) == (3, "http_500")
    failed = post.client.failed_deliveries("all")
    assert [each.attempts for each in failed] == [3, 2, 1]
    assert post.standing().parked == 0


def test_an_event_that_fails_alone_is_tried_on_and_its_thread_is_in_order_once_it_succeeds(
    post: Post, receiver: Receiver
) -> None:
    post.subscribe(receiver.url, max_attempts=2)
    told = post.work(1, facts=3)
    receiver.answer = lambda _: 500
    post.drain(20, then_seconds=600)
    assert post.standing().open_dead_letters == 0

    receiver.answer = lambda _: 200
    post.drain()

    assert ids(receiver.taken) == told


def test_what_waited_ahead_of_the_cursor_is_sent_once_though_the_cursor_follows_in_the_same_turn(
    post: Post, receiver: Receiver
) -> None:
    post.subscribe(receiver.url)
    away, sick = post.work(2)
    receiver.answer = lambda event: 503 if event["id"] == away else 500
    post.drain()  # the cursor stays before the one; the other waits, ahead of it
    assert sorted(each.event["id"] for each in receiver.came) == sorted([away, sick])

    receiver.answer = lambda _: 200
    post.clock.advance(minutes=1)
    post.drain()

    assert sorted(ids(receiver.taken)) == sorted([sick, away])
    assert post.standing().delivered == 2


def test_what_a_person_sends_again_ahead_of_the_cursor_is_tried_once_in_a_turn(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url)
    away, poison = post.work(2)
    receiver.answer = lambda event: 503 if event["id"] == away else 422
    post.drain()  # the cursor stays before the one; the other is given up, ahead of it

    def sent_again(event: dict[str, Any]) -> int:
        if event["id"] == away:
            post.client.redeliver_event("all", post.client.event_dead_letters("all")[0])
        return 200 if event["id"] == away else 500

    receiver.answer = sent_again
    post.clock.advance(minutes=1)
    post.drain()
    assert [each.event["id"] for each in receiver.came[2:]] == [away, poison]
    assert post.standing().failed == 3

    receiver.answer = lambda _: 200
    post.clock.advance(minutes=1)
    post.drain()
    assert ids(receiver.taken) == [away, poison]


def test_a_person_sends_again_or_ignores_what_was_given_up(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url)
    told = post.work(3)
    receiver.answer = lambda _: 400
    post.drain()
    letters = post.client.event_dead_letters("all")
    assert len(letters) == 3

    post.client.ignore_event("all", letters[0], reason="a test of ours")
    post.client.redeliver_event("all", letters[1])
    post.drain()  # it is refused again
    assert [letter.status for letter in post.client.event_dead_letters("all")] == ["OPEN", "OPEN"]

    receiver.answer = lambda _: 200
    again = post.client.event_dead_letters("all")[0]
    post.client.redeliver_event("all", again, reason="mended")
    post.drain()

    assert len(receiver.taken) == 1
    assert receiver.taken[0]["id"] in told
    everything = post.client.event_dead_letters("all", open_only=False)
    assert Counter(letter.status for letter in everything) == {"OPEN": 1, "REDELIVERED": 2, "IGNORED": 1}
    with pytest.raises(Exception, match="already"):
        post.client.redeliver_event("all", again)


def test_a_subscription_that_stops_at_poison_sends_nothing_behind_it_until_a_person_lets_it_go_on(
    post: Post, receiver: Receiver
) -> None:
    post.subscribe(receiver.url, on_poison="stop")
    told = post.work(6)
    receiver.answer = lambda event: 422 if event["id"] == told[2] else 200

    post.drain()
    assert ids(receiver.taken) == told[:2]
    standing = post.standing()
    assert not standing.subscription.enabled
    types = [fact.type for fact in post.client.facts(standing.subscription.uid)]
    assert types[-2:] == ["subscription.dead_lettered", "subscription.stopped"]

    receiver.answer = lambda _: 200
    post.client.redeliver_event("all", post.client.event_dead_letters("all")[0])
    post.client.resume_subscription("all", reason="mended")
    post.drain()

    assert ids(receiver.taken) == told


def test_one_that_stops_keeps_the_order_of_the_ledger_while_an_event_is_tried_again(
    post: Post, receiver: Receiver
) -> None:
    post.subscribe(receiver.url, on_poison="stop", max_attempts=5)
    told = post.work(4, facts=2)
    answers = iter([200, 500, 500])
    receiver.answer = lambda _: next(answers, 200)
    post.drain(4, then_seconds=30)

    assert ids(receiver.taken) == told


def test_a_pause_loses_nothing_and_a_removed_one_sends_nothing(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url)
    post.client.pause_subscription("all", reason="maintenance")
    told = post.work(2)
    post.drain()
    assert receiver.taken == []
    post.client.resume_subscription("all")
    post.drain()
    assert sorted(ids(receiver.taken)) == sorted(told)

    post.client.remove_subscription("all")
    post.work(2)
    post.drain()
    assert sorted(ids(receiver.taken)) == sorted(told)
    assert post.client.subscriptions() == []
    post.subscribe(receiver.url)  # the name is free again
    assert post.standing().delivered == 0


def test_a_filter_takes_what_fits_all_that_it_names(post: Post, receiver: Receiver) -> None:
    post.client.define_queue("other")
    post.subscribe(receiver.url, filter={"streams": ["alert"], "queues": ["other"]})
    here, there = post.client.submit(queue_key="q"), post.client.submit(queue_key="other")
    for subject in (here, there):
        post.client.hold(subject.subject, reason="look")

    post.drain()

    (event,) = receiver.taken
    assert event["type"] == "tenure.hold.placed"
    assert event["data"]["queue_key"] == "other"


def test_events_of_another_tenant_are_not_sent(post: Post, receiver: Receiver, shared_database: str) -> None:
    other = Post(shared_database)
    post.subscribe(receiver.url)
    other.work(3)
    told = post.work(2)

    post.drain()
    other.drain()
    other.close()

    assert sorted(ids(receiver.taken)) == sorted(told)
    assert {event["tenant"] for event in receiver.taken} == {post.tenant}


def test_a_delayed_lane_holds_its_events_for_the_window(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url, lane="delayed", window_seconds=120)
    first = post.work(1)
    post.clock.advance(seconds=100)
    told = post.work(1)
    post.drain()
    assert receiver.taken == []
    post.clock.advance(seconds=30)
    post.drain()
    assert ids(receiver.taken) == first
    post.clock.advance(seconds=100)
    post.drain()
    assert ids(receiver.taken) == told


def test_a_test_goes_to_that_subscription_alone_whatever_its_filter(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url, "one", types=["run.*"])
    post.subscribe(receiver.url, "two", types=["*"])
    receiver.came.clear()
    post.client.test_subscription("one")

    post.drain()

    tested = [event for event in receiver.taken if event["type"] == "tenure.subscription.tested"]
    subscriptions = [event["subject"] for event in tested]
    assert len(tested) == 2  # the other takes everything that is told of others, this test among it
    assert len(set(subscriptions)) == 1


def test_two_that_refuse_each_others_dead_letters_do_not_go_on_for_ever(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url, "one", types=["*"])
    post.subscribe(receiver.url, "two", types=["*"])
    receiver.answer = lambda _: 400
    post.work(2)

    post.drain()

    assert len(receiver.came) < 60
    types = Counter(fact.type for fact in post.client.facts(post.standing("one").subscription.uid))
    assert types["subscription.dead_lettered"] < 20
