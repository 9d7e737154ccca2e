"""A request on a subscription that comes again under its key does nothing and is answered from before (design 06, HTTP API)."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tenure.model.errors import IdempotencyConflict, NotFound
from tests.ledger.post import Post
from tests.ledger.receiver import Receiver

URL = "https://shop.example/events"
HOOK = {"kind": "webhook", "url": URL}


def define(post: Post, key: str | None = None, **more: Any) -> Any:
    given = {"actor": "service:shop", "filter": {"types": ["subject.*"]}, "destination": HOOK} | more
    return post.client.define_subscription("shop", idempotency_key=key, **given)


def types(post: Post, uid: int) -> Counter[str]:
    return Counter(fact.type for fact in post.client.facts(uid))


def test_a_test_that_is_asked_for_twice_under_a_key_is_sent_once(post: Post) -> None:
    with Receiver() as receiver:
        post.subscribe(receiver.url, "shop")
        first = post.client.test_subscription("shop", idempotency_key="t-1")
        assert post.client.test_subscription("shop", idempotency_key="t-1") == first
        assert post.client.test_subscription("shop", idempotency_key="t-2") != first
        post.client.pause_subscription("shop")
        assert post.client.test_subscription("shop", idempotency_key="t-1") == first
        post.client.resume_subscription("shop")
        post.drain()
        assert len(receiver.taken) == 2


def test_a_key_for_signing_is_made_once_and_its_text_is_in_no_answer_from_before(post: Post) -> None:
    made = define(post, "d-1")
    again = define(post, "d-1")
    assert (made.key.number, made.replayed, again.key, again.replayed, again.shown) == (1, False, None, True, 1)

    rotated = post.client.rotate_signing_key("shop", idempotency_key="r-1")
    repeated = post.client.rotate_signing_key("shop", idempotency_key="r-1")
    assert (rotated.key.number, repeated.key, repeated.shown) == (2, None, 2)
    assert post.client.subscription("shop").keys == (1, 2)

    kept = post.rows("select f::text from tenure.fact f where f.tenant = %s", post.client.caller.tenant)
    assert not [row for (row,) in kept if made.key.text in row or rotated.key.text in row]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (lambda c: c.pause_subscription("shop", reason="a", idempotency_key="k"),
         lambda c: c.pause_subscription("shop", reason="b", idempotency_key="k")),
        (lambda c: c.pause_subscription("shop", idempotency_key="k"), lambda c: c.resume_subscription("shop", idempotency_key="k")),
        (lambda c: c.rotate_signing_key("shop", idempotency_key="k"),
         lambda c: c.rotate_signing_key("shop", drop_former=True, idempotency_key="k")),
        (lambda c: c.remove_subscription("shop", idempotency_key="k"),
         lambda c: c.remove_subscription("shop", reason="b", idempotency_key="k")),
    ],
)  # fmt: skip
def test_a_key_that_stands_for_another_request_is_refused(
    post: Post, first: Callable[[Any], Any], second: Callable[[Any], Any]
) -> None:
    uid = define(post).subscription.uid
    first(post.client)
    before = types(post, uid)
    with pytest.raises(IdempotencyConflict):
        second(post.client)
    assert types(post, uid) == before


def test_what_changed_nothing_at_first_changes_nothing_when_it_comes_again(post: Post) -> None:
    define(post)
    post.client.resume_subscription("shop", idempotency_key="k")  # it goes on already
    post.client.pause_subscription("shop")
    assert not post.client.resume_subscription("shop", idempotency_key="k").enabled
    assert not post.client.subscription("shop").subscription.enabled

    define(post, "d")  # as it is already
    define(post, max_attempts=3)
    define(post, "d")
    assert post.client.subscription("shop").subscription.spec.max_attempts == 3


def test_a_removal_that_comes_again_leaves_alone_what_was_defined_since(post: Post) -> None:
    define(post)
    gone = post.client.remove_subscription("shop", idempotency_key="k")
    assert post.client.remove_subscription("shop", idempotency_key="k") == gone
    new = define(post).subscription
    assert post.client.remove_subscription("shop", idempotency_key="k") == gone
    assert post.client.subscription("shop").subscription.uid == new.uid
    with pytest.raises(NotFound):
        post.client.remove_subscription("other", idempotency_key="k")


def test_a_decision_on_a_dead_letter_that_comes_again_is_answered_as_it_was(post: Post) -> None:
    with Receiver(answer=lambda _: 422) as receiver:
        post.subscribe(receiver.url, "shop")
        post.work(2)
        post.drain()
        first, second = post.client.event_dead_letters("shop")
        again = {"reason": "mended", "idempotency_key": "k"}
        resolved = post.client.redeliver_event("shop", first, **again)
        assert post.client.redeliver_event("shop", first, **again) == resolved
        with pytest.raises(IdempotencyConflict):
            post.client.redeliver_event("shop", second, **again)
        with pytest.raises(IdempotencyConflict):
            post.client.ignore_event("shop", first, **again)
        receiver.came.clear()
        post.drain()
        assert len(receiver.came) == 1


def test_of_many_that_ask_at_once_under_one_key_one_is_done(post: Post) -> None:
    uid = define(post).subscription.uid
    made: list[Any] = []

    def rotate() -> None:
        made.append(post.client.rotate_signing_key("shop", idempotency_key="k"))

    threads = [threading.Thread(target=rotate) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.replayed for each in made) == [False, True, True, True, True]
    assert types(post, uid)["subscription.key_rotated"] == 1
