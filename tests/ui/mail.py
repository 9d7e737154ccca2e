"""Subscriptions of the laboratory, which the server's own relay sends to receivers here: some take, one refuses, one is away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tenure.sdk.client import Tenure
from tests.ledger.receiver import Receiver
from tests.ui.laboratory import Laboratory
from tests.waiting import until

GOOD, PICKY, AWAY, RESTING = "shop", "picky", "away", "archive"
_QUEUE, _GIVEN_UP = "told", 3


@contextmanager
def mailbox(client: Tenure, lab: Laboratory) -> Iterator[Receiver]:
    """Receivers that listen as long as this lasts; the one that takes everything."""
    with ExitStack() as stack:
        good = stack.enter_context(Receiver())
        picky = stack.enter_context(Receiver(lambda _: 422))
        away = Receiver()
        away.up()
        away.down()
        client.define_queue(_QUEUE, dispatch_priority=1)
        _subscribe(client, GOOD, good.url, ["hold.placed", "hold.released"])
        _subscribe(client, PICKY, picky.url, ["hold.placed"], max_attempts=1)
        _subscribe(client, AWAY, away.url, ["hold.placed"], max_attempts=1000)
        client.define_subscription(
            RESTING, actor="agency:records", filter={"domains": ["execution"]}, start="beginning",
            destination={"kind": "file", "name": "events.jsonl"},
        )  # fmt: skip
        client.pause_subscription(RESTING, reason="the disk is being moved")
        for number in range(_GIVEN_UP):
            subject = client.submit(queue_key=_QUEUE, name=f"told {number}").subject
            client.hold(subject, reason="to be told of")
        until(lambda: client.subscription(PICKY).open_dead_letters == _GIVEN_UP)
        until(lambda: client.subscription(AWAY).failures)
        until(lambda: len(good.taken) >= _GIVEN_UP)
        yield good
        for name in (GOOD, PICKY, AWAY):
            client.pause_subscription(name, reason="the day is over")


def _subscribe(client: Tenure, name: str, url: str, types: list[str], **more: Any) -> None:
    client.define_subscription(
        name, actor=f"service:{name}", filter={"types": types, "queues": [_QUEUE]},
        destination={"kind": "webhook", "url": url, "allow_private": True, "timeout_seconds": 5}, **more,
    )  # fmt: skip
