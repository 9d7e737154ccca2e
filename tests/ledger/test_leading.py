"""One leader for each subscription, whose fence the database holds; and nothing is skipped below the horizon."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import psycopg
import pytest

from tenure.ledger.relaying.books import Fenced
from tenure.ledger.rows import Watched
from tests.ledger.post import Post
from tests.ledger.receiver import Receiver


def ids(receiver: Receiver) -> list[str]:
    return [event["id"] for event in receiver.taken]


def test_a_second_relay_leads_once_the_lease_has_run_out_and_the_first_moves_nothing_any_more(
    post: Post, receiver: Receiver
) -> None:
    post.subscribe(receiver.url)
    (uid,) = [post.standing().subscription.uid]

    async def both() -> None:
        async with post.relay() as first, post.relay() as second:
            await first.drain()
            await second.drain()
            assert (first.leading, second.leading) == ({uid}, frozenset())
            leader = first._leaders[uid]
            (watched,) = await first._perform(lambda _: _watched(post))

            post.clock.advance(seconds=31)
            await second.drain()
            assert second.leading == {uid}
            position = post.standing().position
            told = post.work(1)

            # The first has not noticed yet: what it sent was sent twice, and what it would write down is refused.
            safe = await first._perform(first._horizon.look)
            with pytest.raises(Fenced):
                await leader.turn(watched, safe)
            assert post.standing().position == position
            await second.drain()
            assert ids(receiver) == told * 2
            await first.once()
            assert first.leading == frozenset()

    asyncio.run(both())


def _watched(post: Post):  # type: ignore[no-untyped-def]
    from tenure.ledger.relaying import books

    return books.watch(post.client.caller.tenant)


def test_a_turn_begins_with_nothing_that_was_watched_before_the_last_one_was_written_down(
    post: Post, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    post.subscribe(receiver.url)
    told = post.work(1, facts=2)
    watched_again = threading.Event()

    def fails(event: dict[str, Any]) -> int:
        watched_again.wait(4)
        return 500 if event["id"] == told[0] else 200

    async def overlapping() -> None:
        async with post.relay() as relay:
            keep = relay._keep

            async def keep_once_the_turn_has_ended(watched: list[Watched]) -> None:
                watched_again.set()
                await asyncio.gather(*relay._turns.values())
                await keep(watched)

            receiver.answer = fails
            while not relay._turns:
                await relay._round()
            post.client.hold(told[0].partition("/")[0], reason="look")
            monkeypatch.setattr(relay, "_keep", keep_once_the_turn_has_ended)
            await relay.drain()
            receiver.answer = lambda _: 200
            post.clock.advance(seconds=10)
            await relay.drain()

    asyncio.run(overlapping())
    assert ids(receiver) == post.told()
    assert len(post.told()) == 3


def test_a_relay_that_takes_a_lease_begins_where_the_one_that_had_it_last_came_to(
    post: Post, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    post.subscribe(receiver.url)
    told = post.work(3)

    async def both() -> None:
        async with post.relay() as second:
            keep = second._keep

            async def another_leads_meanwhile(watched: list[Watched]) -> None:
                monkeypatch.undo()
                async with post.relay() as first:
                    await first.drain()
                await keep(watched)

            monkeypatch.setattr(second, "_keep", another_leads_meanwhile)
            await second.drain()
            assert second.leading == {post.standing().subscription.uid}

    asyncio.run(both())
    assert sorted(ids(receiver)) == sorted(told)


def test_a_cursor_is_moved_by_its_leader_alone_and_never_back(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url)
    post.work(1)
    post.drain()
    uid = post.standing().subscription.uid
    for change in ("position = position - 1", "fence = fence + 1", "fence = fence - 1, position = position + 10"):
        with psycopg.connect(post.dsn) as connection, pytest.raises(psycopg.Error) as refused:
            connection.execute(f"update tenure.worker_cursor set {change} where subscription = %s", [uid])
        assert refused.value.sqlstate == "TN002"


@pytest.mark.parametrize(
    "change",
    [
        "holder = 'me'", "token = token + 1, holder = 'me'", "token = token + 2", "token = token - 1",
        "expires_at = expires_at + interval '1 h', holder = 'me'",
    ],
)  # fmt: skip
def test_a_lease_that_lives_is_not_taken(post: Post, receiver: Receiver, change: str) -> None:
    post.subscribe(receiver.url)

    async def held() -> None:
        async with post.relay() as relay:
            await relay.drain()
            with psycopg.connect(post.dsn) as connection, pytest.raises(psycopg.Error) as refused:
                connection.execute("select set_config('tenure.now', %s, false)", [post.clock().isoformat()])
                name = f"relay/{post.standing().subscription.uid}"
                connection.execute(f"update tenure.runtime_lease set {change} where name = %s", [name])
            assert refused.value.sqlstate == "TN002"

    asyncio.run(held())


def test_what_a_slow_transaction_told_is_sent_though_others_were_told_later_and_ended_before(
    post: Post, receiver: Receiver
) -> None:
    post.subscribe(receiver.url)

    async def slowly() -> None:
        async with post.relay() as relay:
            with post.client.transaction() as slow:
                early = slow.submit(queue_key="q").subject
                late = post.work(3)
                await relay.drain()
                assert receiver.taken == []  # nothing below the horizon is missing yet, so nothing above is sent
            await relay.drain()
            told = post.told()
            assert sorted(ids(receiver)) == sorted(told)
            assert set(late) < set(told)
            assert len(told) == 4
            assert early

    asyncio.run(slowly())


def test_a_relay_that_begins_anew_in_the_middle_of_a_slow_transaction_skips_nothing(
    post: Post, receiver: Receiver
) -> None:
    post.subscribe(receiver.url)
    with post.client.transaction() as slow:
        slow.submit(queue_key="q")
        post.work(2)
        post.drain()
        post.work(1)
        post.drain()
    post.drain()

    assert sorted(ids(receiver)) == sorted(post.told())


def test_memory_stays_flat_where_many_events_wait_for_a_receiver_that_is_away(post: Post, receiver: Receiver) -> None:
    post.subscribe(receiver.url)
    receiver.down()
    post.client.submit_many([{"queue_key": "q"} for _ in range(2000)])

    async def away() -> None:
        async with post.relay() as relay:
            for _ in range(5):
                await relay.drain()
                post.clock.advance(seconds=61)
            (leader,) = relay._leaders.values()
            assert leader._ahead == set()
            receiver.up()
            await relay.drain()

    asyncio.run(away())
    assert len(receiver.taken) == 2000
    assert post.standing().failed < 50
