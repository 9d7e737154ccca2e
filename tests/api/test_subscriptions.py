"""Subscriptions over HTTP: defined, tried out, and what they gave up; each answer checked against the document."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tenure.sdk.relay import RelaySettings, relay_on
from tests.api.conftest import Site, running
from tests.api.documented import Documented
from tests.ledger.receiver import Receiver

LEDGER = "//api/v1/ledger"


@pytest.fixture
def boss(site: Site) -> Documented:
    return site.as_("admin")


def act(client: Documented, action: str, **body: Any) -> Any:
    return client.request("POST", f"{LEDGER}/actions/{action}", json=body)


def define(client: Documented, url: str, name: str = "shop", **more: Any) -> Any:
    subscription = {
        "name": name, "actor": "service:shop", "filter": {"types": ["queue.*"]},
        "destination": {"kind": "webhook", "url": url, "allow_private": True},
    }  # fmt: skip
    return act(client, "define-subscription", subscription=subscription | more)


def relayed(site: Site) -> None:
    server = site.server.settings

    async def drained() -> None:
        # By the clock of the server, which may be ahead: what it says is due now would not be due for another.
        async with relay_on(server.dsn, RelaySettings(tenant=site.trusted.caller.tenant), server.clock) as relay:
            await relay.drain()

    asyncio.run(drained())


def test_a_subscription_is_defined_tried_out_and_taken_out_of_use(site: Site, boss: Documented) -> None:
    with Receiver() as receiver:
        made = define(boss, receiver.url).json()
        assert made["key"]["text"].startswith("tnk_")
        assert define(boss, receiver.url).json()["key"] is None
        tested = act(boss, "test-subscription", name="shop")
        assert tested.status_code == 202
        relayed(site)

    (event,) = receiver.taken
    assert (event["type"], event["subject"]) == ("tenure.subscription.tested", made["subscription"]["euid"])
    standing = boss.request("GET", f"{LEDGER}/subscriptions/shop").json()
    assert (standing["delivered"], standing["keys"]) == (1, [1])
    assert made["key"]["text"] not in boss.request("GET", f"{LEDGER}/subscriptions").text
    assert act(boss, "rotate-signing-key", name="shop").json()["key"]["number"] == 2
    assert not act(boss, "pause-subscription", name="shop", reason="stocktaking").json()["enabled"]
    assert act(boss, "test-subscription", name="shop").status_code == 409
    assert act(boss, "resume-subscription", name="shop").json()["enabled"]
    act(boss, "remove-subscription", name="shop")
    assert boss.request("GET", f"{LEDGER}/subscriptions/shop").status_code == 404


def test_what_was_given_up_is_listed_sent_again_or_ignored(site: Site, boss: Documented) -> None:
    with Receiver(answer=lambda _: 422) as receiver:
        define(boss, receiver.url, "picky")
        for key in ("a", "b"):
            site.trusted.define_queue(f"picky-{key}")
        relayed(site)
        deliveries = boss.request("GET", f"{LEDGER}/subscriptions/picky/deliveries").json()["items"]
        assert [each["code"] for each in deliveries] == ["http_422", "http_422"]
        assert {(each["type"], each["thread"][:3]) for each in deliveries} == {("queue.defined", "QX-")}
        page = boss.request("GET", f"{LEDGER}/subscriptions/picky/dead-letters?limit=1").json()
        (first,) = page["items"]
        rest = boss.request("GET", f"{LEDGER}/subscriptions/picky/dead-letters?limit=1&cursor={page['next']}").json()
        (second,) = rest["items"]

        metrics = boss.request("GET", "//metrics").text
        labels = f'{{subscription="picky",tenant="{site.tenant}"}}'
        for line in ("dead_letters{} 2.0", "failures_total{} 2.0", "deliveries_total{} 0.0", "enabled{} 1.0",
                     "oldest_undelivered_seconds{} 0.0"):  # fmt: skip
            assert f"tenure_subscription_{line.format(labels)}" in metrics

        receiver.answer = lambda _: 200
        again = act(boss, "redeliver-event", name="picky", dead_letter_euid=first["euid"], reason="mended")
        assert again.json()["status"] == "REDELIVERED"
        ignored = act(boss, "ignore-event", name="picky", dead_letter_euid=second["euid"], reason="of no use")
        assert ignored.json()["status"] == "IGNORED"
        assert act(boss, "ignore-event", name="picky", dead_letter_euid=second["euid"], reason="x").status_code == 409
        relayed(site)

    assert len(receiver.taken) == 1
    act(boss, "remove-subscription", name="picky")


def test_an_event_that_fails_is_listed_explained_and_given_up(site: Site, boss: Documented) -> None:
    with Receiver(answer=lambda event: 500 if "tenure.queue.defined" in event["type"] else 200) as receiver:
        define(boss, receiver.url, "stuck")
        for key in ("a", "b"):
            site.trusted.define_queue(f"stuck-{key}")
        relayed(site)
        page = boss.request("GET", f"{LEDGER}/subscriptions/stuck/waiting?limit=1").json()
        (first,) = page["items"]
        assert (first["type"], first["code"], first["tries"]) == ("queue.defined", "http_500", 1)
        rest = boss.request("GET", f"{LEDGER}/subscriptions/stuck/waiting?limit=1&cursor={page['next']}").json()
        assert (len(rest["items"]), rest["next"]) == (1, None)
        why = boss.request("GET", f"{LEDGER}/subscriptions/stuck/why").json()["reasons"]
        assert first["event"] in next(reason["message"] for reason in why if reason["code"] == "event_fails")

        body = {"name": "stuck", "event": first["event"], "reason": "of no use", "idempotency_key": "g-1"}
        given = act(boss, "give-up-event", **body)
        assert (given.status_code, given.json()["event"]) == (202, first["event"])
        assert act(boss, "give-up-event", **body).json() == given.json()
        assert act(boss, "give-up-event", **(body | {"reason": "another"})).json()["code"] == "idempotency_conflict"
        relayed(site)
        (letter,) = boss.request("GET", f"{LEDGER}/subscriptions/stuck/dead-letters").json()["items"]
        assert (letter["code"], letter["thread"]) == ("given_up_by_hand", first["event"].partition("/")[0])
    act(boss, "remove-subscription", name="stuck")


def test_an_action_that_comes_again_under_its_key_is_answered_from_before(site: Site, boss: Documented) -> None:
    made = define(boss, "https://shop.example/x", "twice").json()
    assert not made["replayed"]
    rotated = act(boss, "rotate-signing-key", name="twice", idempotency_key="r").json()
    again = act(boss, "rotate-signing-key", name="twice", idempotency_key="r").json()
    assert (rotated["key"]["number"], again["key"], again["replayed"], again["shown"]) == (2, None, True, 2)
    tested = act(boss, "test-subscription", name="twice", idempotency_key="t").json()
    repeated = boss.request(
        "POST", f"{LEDGER}/actions/test-subscription", json={"name": "twice"}, headers={"Idempotency-Key": "t"}
    )
    assert (repeated.status_code, repeated.json()) == (202, tested)
    refused = act(boss, "rotate-signing-key", name="twice", drop_former=True, idempotency_key="r")
    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict")
    act(boss, "remove-subscription", name="twice")


@pytest.mark.parametrize(
    "broken",
    [
        {"destination": {"kind": "webhook", "url": "http://shop.example/x"}},
        {"destination": {"kind": "webhook", "url": "https://ada:pw@shop.example/x"}},
        {"destination": {"kind": "webhook", "url": "ftp://shop.example/x"}},
        {"destination": {"kind": "pigeon"}}, {"destination": {"kind": "file", "name": "../x"}},
        {"filter": {}}, {"filter": {"types": ["no.such_type"]}}, {"filter": {"types": ["nothing.*"]}},
        {"actor": "ada"}, {"max_attempts": 0}, {"on_poison": "explode"}, {"window_seconds": 60},
        {"backoff": {"initial_delay_seconds": 0}},
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_and_nothing_is_made(boss: Documented, broken: dict[str, Any]) -> None:
    assert define(boss, "https://shop.example/x", "broken", **broken).status_code == 400
    assert boss.request("GET", f"{LEDGER}/subscriptions/broken").status_code == 404


def test_a_server_sends_events_itself(site: Site, boss: Documented) -> None:
    with Receiver() as receiver, running(site.server.settings.model_copy(update={"relay": True})) as _:
        define(boss, receiver.url, "served")
        site.trusted.define_queue("served-here")
        receiver.wait_for(1)
    assert receiver.taken[0]["type"] == "tenure.queue.defined"
    act(boss, "remove-subscription", name="served")


def test_how_long_is_kept_what_is_no_fact(boss: Documented) -> None:
    shown = boss.request("GET", f"{LEDGER}/retention").json()["items"]
    assert [(each["kind"], each["days"], each["set_seq"]) for each in shown] == [
        ("inbox", 90, None),
        ("delivery", 30, None),
    ]
    asked = {"kind": "inbox", "days": 180, "reason": "a slow sender", "idempotency_key": "r"}
    first = act(boss, "set-retention", **asked).json()
    assert (first["days"], act(boss, "set-retention", **asked).json()) == (180, first)
    assert act(boss, "set-retention", **(asked | {"days": 10})).json()["code"] == "idempotency_conflict"
    assert act(boss, "set-retention", kind="inbox", days=3).status_code == 400
