"""A subscription that groups threads: one order within a group, and no group waits for another (design 05, Out)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenure.model.errors import Conflict
from tests.ledger.post import Post
from tests.ledger.receiver import Receiver


def ids(events: list[dict[str, Any]]) -> list[str]:
    return [event["id"] for event in events]


def of(receiver: Receiver, told: list[str]) -> list[str]:
    """Which of these events were taken, in the order in which they came."""
    return [each for each in ids(receiver.taken) if each in set(told)]


def held(post: Post) -> int:
    return int(post.rows("select count(*) from tenure.held_event where tenant = %s", post.client.caller.tenant)[0][0])


def grouped(post: Post, receiver: Receiver, **more: Any) -> None:
    post.subscribe(receiver.url, group_by="correlation", **({"max_attempts": 1000} | more))


def test_a_group_whose_head_is_refused_for_hours_holds_back_its_own_events_alone(
    post: Post, receiver: Receiver
) -> None:
    grouped(post, receiver, lane="delayed", window_seconds=60)
    sick, well, single = post.batch("import 1", 3), post.batch("import 2", 3), post.work(1)[-1:]
    receiver.answer = lambda event: 500 if event["id"] == sick[0] else 200

    async def hours() -> None:
        async with post.relay() as relay:
            for _ in range(30):
                sick.extend(post.batch("import 1", 2))
                well.extend(post.batch("import 2"))
                single.extend(post.work(1)[-1:])
                post.clock.advance(minutes=5)
                await relay.drain()

    asyncio.run(hours())

    assert of(receiver, sick) == []
    assert of(receiver, well) == well
    assert sorted(of(receiver, single)) == sorted(single)
    assert held(post) == len(sick) - 1 == 62
    standing = post.standing()
    assert (standing.parked, standing.open_dead_letters) == (1, 0)

    receiver.answer = lambda _: 200
    post.clock.advance(minutes=5)
    post.drain()

    assert of(receiver, sick) == sick
    assert len(receiver.taken) == len({*ids(receiver.taken)})
    assert held(post) == 0
    assert post.standing().parked == 0


def test_threads_of_one_group_go_one_after_the_other_where_those_of_none_go_by_themselves(
    post: Post, receiver: Receiver
) -> None:
    grouped(post, receiver)
    told = post.batch("import 1", 40)
    post.drain()
    assert ids(receiver.taken) == told  # eight requests at once, but not of one group


def test_a_group_whose_backlog_is_longer_than_a_page_comes_in_order_however_often_it_stops(
    post: Post, receiver: Receiver
) -> None:
    grouped(post, receiver)
    told = post.batch("import 1", 150)
    receiver.answer = lambda event: 500 if event["id"] == told[0] else 200
    post.drain()
    told += post.batch("import 1", 120)
    post.drain()
    assert (receiver.taken, held(post)) == ([], 269)

    receiver.answer = lambda event: 200 if event["id"] != told[200] else 500
    post.clock.advance(minutes=2)
    post.drain()
    assert ids(receiver.taken) == told[:200]
    assert held(post) == 69

    receiver.answer = lambda _: 200
    post.clock.advance(minutes=2)
    post.drain()
    assert ids(receiver.taken) == told
    assert held(post) == 0


def test_what_a_group_gave_up_is_passed_over_and_the_rest_of_it_follows(post: Post, receiver: Receiver) -> None:
    grouped(post, receiver, max_attempts=3)
    told = post.batch("import 1", 4)
    receiver.answer = lambda event: 500 if event["id"] == told[1] else 200
    post.drain(5, then_seconds=10, meanwhile=lambda: post.work(1))

    assert of(receiver, told) == [told[0], told[2], told[3]]
    (letter,) = post.client.event_dead_letters("all")
    assert letter.attempts == 3

    receiver.answer = lambda _: 200
    post.client.redeliver_event("all", letter)
    post.drain()
    assert of(receiver, told) == [told[0], told[2], told[3], told[1]]


def test_a_receiver_that_is_away_holds_no_rows_for_the_groups_that_it_does_not_take(
    post: Post, receiver: Receiver
) -> None:
    grouped(post, receiver)
    receiver.down()
    told = [each for number in range(20) for each in post.batch(f"import {number}", 5)]
    post.drain(5, then_seconds=60)
    assert held(post) == 0

    receiver.up()
    post.drain()
    assert sorted(ids(receiver.taken)) == sorted(told)


def test_a_run_with_the_work_of_its_steps_is_one_group(post: Post, receiver: Receiver) -> None:
    post.client.workflow("order", queue="q").task("reserve")
    post.client.define_workflows()
    grouped(post, receiver, types=["subject.*", "run.*"])
    run = post.client.start_run("order", {}, key="o-1")
    receiver.answer = lambda event: 500 if event["type"] == "tenure.run.started" else 200
    post.drain()
    assert post.standing().parked == 1
    assert receiver.taken == []

    receiver.answer = lambda _: 200
    post.clock.advance(minutes=1)
    post.drain()
    types = [event["type"] for event in receiver.taken]
    assert types == ["tenure.run.started", "tenure.run.runnables_planned", "tenure.subject.submitted"], run


def test_how_a_subscription_groups_stays_as_it_was_defined(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url)
    with pytest.raises(Conflict, match="groups its events by thread"):
        post.subscribe(receiver.url, group_by="correlation")
