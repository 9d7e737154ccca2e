"""Webhooks: signed, bounded, and kept from private networks (design 07, Security)."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest

from tenure.ledger.destinations.addresses import permitted
from tenure.ledger.destinations.webhook import WebhookDestination
from tenure.model.cloud_event import CloudEvent
from tenure.model.delivery import Outcome, Verdict
from tenure.model.errors import InvalidRequest
from tenure.model.fact import Fact
from tenure.model.signing import SigningKey
from tenure.model.subscription import Webhook
from tenure.sdk.public_form import public
from tenure.webhooks import InvalidSignature, verify_signature
from tests.ledger.post import Post
from tests.ledger.receiver import Receiver

NOWHERE = "0.0.0.0"  # noqa: S104 - nothing is bound to it
TOLD = Fact(1, 1, "subject.submitted", datetime(2026, 1, 5, tzinfo=UTC), 1, "user:ada")
EVENT = CloudEvent("SX-1/1", "tenure.subject.submitted", "SX-1", b'{"specversion":"1.0","id":"SX-1/1"}', TOLD)
KEY = SigningKey(1, "tnk_only-for-this-test-0123456789")


def deliver(url: str, resolves_to: dict[str, list[str]] | None = None, **settings: Any) -> Verdict:
    """What becomes of one event that is sent to a URL."""

    async def resolve(host: str, port: int) -> list[str]:
        del port
        return resolves_to[host] if resolves_to is not None else [host]

    async def delivered() -> Verdict:
        given = {"allow_private": True, "timeout_seconds": 2} | settings
        webhook = WebhookDestination(Webhook(url=url, **given), [KEY], resolve=resolve)
        try:
            return await webhook.deliver(EVENT)
        finally:
            await webhook.close()

    return asyncio.run(delivered())


def test_a_request_carries_the_event_and_a_signature_that_its_receiver_can_verify(
    post: Post, receiver: Receiver
) -> None:
    key = post.subscribe(receiver.url)
    post.work(1)
    post.drain()

    (came,) = receiver.came
    assert came.headers["Content-Type"].startswith("application/cloudevents+json")
    assert came.headers["Tenure-Event-Id"] == came.event["id"]
    verify_signature(came.body, came.headers, key)
    for body, headers, given in (
        (came.body + b" ", came.headers, key), (came.body, came.headers, key + "x"), (came.body, {}, key),
        (came.body, came.headers | {"Tenure-Timestamp": str(int(came.headers["Tenure-Timestamp"]) + 1)}, key),
        (came.body, came.headers | {"Tenure-Signature": "v1=" + "0" * 64}, key),
    ):  # fmt: skip
        with pytest.raises(InvalidSignature):
            verify_signature(body, headers, given)
    with pytest.raises(InvalidSignature, match="signed"):
        verify_signature(came.body, came.headers, key, now=int(came.headers["Tenure-Timestamp"]) + 301)


def test_while_a_key_is_changed_both_verify_and_the_former_no_more_once_it_is_dropped(
    post: Post, receiver: Receiver
) -> None:
    former = post.subscribe(receiver.url)
    made = post.client.rotate_signing_key("all")
    assert made.key is not None
    post.work(1)
    post.drain()
    post.client.rotate_signing_key("all", drop_former=True)
    post.work(1)
    post.drain()

    both, newest = receiver.came
    verify_signature(both.body, both.headers, former)
    verify_signature(both.body, both.headers, made.key.text)
    verify_signature(newest.body, newest.headers, former, made.key.text)
    with pytest.raises(InvalidSignature):
        verify_signature(newest.body, newest.headers, former)


def test_a_key_shows_in_no_log_no_fact_no_answer_and_no_repr(
    post: Post, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    made = post.client.define_subscription(
        "all", actor="service:shop", filter={"types": ["*"]},
        destination={"kind": "webhook", "url": f"{receiver.url}/path-that-is-a-secret", "allow_private": True},
    )  # fmt: skip
    assert made.key is not None
    rotated = post.client.rotate_signing_key("all").key
    assert rotated is not None
    receiver.answer = lambda _: 500
    post.work(1)
    post.drain()
    receiver.answer = lambda _: 422
    post.clock.advance(seconds=60)
    post.drain()

    standing = post.standing()
    facts = post.rows("select data::text from tenure.fact where tenant = %s", post.client.caller.tenant)
    elsewhere = [
        repr(made), repr(standing), json.dumps(public(standing), default=str), repr(facts),
        json.dumps(public(post.client.failed_deliveries("all"))), json.dumps(public(post.client.event_dead_letters("all"))),
    ]  # fmt: skip
    logged = "\n".join(record.getMessage() for record in caplog.records if not record.name.startswith("httpcore"))
    for secret in (made.key.text, rotated.text):
        assert all(secret not in told for told in elsewhere)
        assert secret not in "\n".join(record.getMessage() for record in caplog.records)
    for told in (repr(made), repr(standing), repr(facts), logged):
        assert "path-that-is-a-secret" not in told  # a path may be one


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    with Receiver() as inside:
        receiver.answer = lambda _: (302, {"Location": inside.url})
        verdict = deliver(receiver.url)
        assert (verdict.outcome, verdict.code) == (Outcome.FAILED, "http_302")
        assert inside.came == []


@contextlib.contextmanager
def listening() -> Iterator[tuple[int, list[Any]]]:
    """A port of this machine, and who connected to it."""
    came: list[Any] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.05)
        stopping = threading.Event()

        def accept() -> None:
            while not stopping.is_set():
                with contextlib.suppress(TimeoutError):
                    came.append(server.accept())

        thread = threading.Thread(target=accept)
        thread.start()
        yield server.getsockname()[1], came
        stopping.set()
        thread.join(5)
        for connection, _ in came:
            connection.close()


@pytest.mark.parametrize("addresses", [
    ["127.0.0.1"], ["10.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["::1"], ["169.254.169.254"], ["::ffff:127.0.0.1"],
    ["64:ff9b::7f00:1"], ["2002:7f00:1::"], ["100.64.0.1"], [NOWHERE],
])  # fmt: skip
def test_a_name_that_resolves_to_a_private_address_is_not_connected_to(addresses: list[str]) -> None:
    with listening() as (port, came):
        verdict = deliver(f"https://shop.example:{port}/", {"shop.example": addresses}, allow_private=False)
        assert (verdict.outcome, verdict.code) == (Outcome.DOWN, "private_address")
    assert came == []


def test_what_was_checked_is_what_is_connected_to(receiver: Receiver) -> None:
    answers = iter([["127.0.0.1"], ["203.0.113.9"]])

    async def resolve(host: str, port: int) -> list[str]:
        del host, port
        return next(answers)  # a second look would lead elsewhere

    async def delivered() -> Verdict:
        webhook = WebhookDestination(
            Webhook(url=f"http://shop.example:{receiver.port}/", allow_private=True), [KEY], resolve=resolve
        )
        try:
            return await webhook.deliver(EVENT)
        finally:
            await webhook.close()

    assert asyncio.run(delivered()).outcome is Outcome.DELIVERED
    assert receiver.came[0].headers["Host"] == f"shop.example:{receiver.port}"


@pytest.mark.parametrize(("address", "public", "private"), [
    ("8.8.8.8", True, True), ("2606:4700::1111", True, True), ("10.1.2.3", False, True), ("127.0.0.1", False, True),
    ("fd00::1", False, True), ("169.254.169.254", False, False), ("fe80::1%eth0", False, False), ("224.0.0.1", False, False),
    (NOWHERE, False, False), ("::", False, False), ("::ffff:10.0.0.1", False, True), ("no address", False, False),
])  # fmt: skip
def test_which_addresses_are_permitted(address: str, public: bool, private: bool) -> None:
    assert permitted(address, allow_private=False) is public
    assert permitted(address, allow_private=True) is private


def _server(serve: Any) -> contextlib.AbstractContextManager[int]:
    """A server of one connection that answers as ``serve`` writes it."""

    @contextlib.contextmanager
    def running() -> Iterator[int]:
        with socket.create_server(("127.0.0.1", 0)) as server:
            stop = threading.Event()

            def accept() -> None:
                with contextlib.suppress(OSError):
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(65536)
                        serve(connection, stop)

            thread = threading.Thread(target=accept, daemon=True)
            thread.start()
            yield server.getsockname()[1]
            stop.set()
        thread.join(5)

    return running()


def test_an_answer_that_drips_for_ever_ends_with_the_time_of_a_request() -> None:
    def drip(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not stop.wait(0.05):
            connection.sendall(b"1\r\nx\r\n")

    with _server(drip) as port:
        assert deliver(f"http://127.0.0.1:{port}/", timeout_seconds=0.5) == Verdict(Outcome.FAILED, "timeout")


def test_of_an_answer_no_more_is_read_than_is_reasonable() -> None:
    sent = [0]

    def pour(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
        while not stop.is_set() and sent[0] < 500_000_000:
            sent[0] += connection.send(b"x" * 65536)

    with _server(pour) as port:
        assert deliver(f"http://127.0.0.1:{port}/", timeout_seconds=5).outcome is Outcome.DELIVERED
    assert sent[0] < 50_000_000


@pytest.mark.parametrize(("raw", "outcome"), [
    (b"", Outcome.FAILED), (b"garbage\r\n\r\n", Outcome.FAILED),
    (b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", Outcome.DOWN),
])  # fmt: skip
def test_answers_that_are_none_are_failures(raw: bytes, outcome: Outcome) -> None:
    with _server(lambda connection, _: connection.sendall(raw)) as port:
        verdict = deliver(f"http://127.0.0.1:{port}/")
    assert verdict.outcome is outcome
    assert verdict.retry_after == (7 if outcome is Outcome.DOWN else None)


#: What is no name of a host, whoever is asked for it (RFC 1035): a label is too long, or empty, or all of it is too long.
NO_NAMES = [f"https://{host}/x" for host in (
    "a" * 64 + ".example.org", "ex..example.org", ".example.org", "example.org..", ".".join(["a" * 60] * 5),
)]  # fmt: skip


@pytest.mark.parametrize("url", NO_NAMES)
def test_a_webhook_is_not_defined_at_what_is_no_name_of_a_host(post: Post, url: str) -> None:
    with pytest.raises(InvalidRequest, match="is no name of a host"):
        post.client.define_subscription(
            "all", actor="service:shop", filter={"types": ["*"]}, destination={"kind": "webhook", "url": url}
        )
    assert post.client.subscriptions() == []


@pytest.mark.parametrize(
    "host", ["a" * 63 + ".example.org", "example.org.", "10.0.0.1", "[::1]", "under_score.example.org"]
)
def test_it_may_be_at_any_other(post: Post, host: str) -> None:
    where = {"kind": "webhook", "url": f"https://{host}/x"}
    made = post.client.define_subscription("all", actor="service:shop", filter={"types": ["*"]}, destination=where)
    assert made.subscription.name == "all"


@pytest.mark.parametrize("url", NO_NAMES[:2])
def test_one_that_was_defined_there_before_is_a_receiver_that_is_away(post: Post, url: str) -> None:
    post.subscribe("https://shop.example/x")
    with psycopg.connect(post.dsn) as owner:
        owner.execute("set session_replication_role = replica")
        owner.execute(
            "update tenure.subscription set spec = jsonb_set(spec, '{destination,url}', to_jsonb(%s::text)) where tenant = %s",
            [url, post.client.caller.tenant],
        )
    post.work(1)
    post.drain()
    reason = next(each for each in post.client.explain_subscription("all") if each.code == "receiver_away")
    assert (reason.evidence["failing_with"], reason.blocking) == ("unreachable", True)
    assert [delivery.code for delivery in post.client.failed_deliveries("all")] == ["unreachable"]


def test_what_nobody_foresaw_is_a_failed_delivery_and_told(
    post: Post, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(self: WebhookDestination, event: CloudEvent) -> Verdict:
        raise LookupError("a secret of the event")

    post.subscribe(receiver.url)
    (event,) = post.work(1)
    with monkeypatch.context() as patched:
        patched.setattr(WebhookDestination, "_post", broken)
        post.drain()
    reason = next(each for each in post.client.explain_subscription("all") if each.code == "event_fails")
    assert (reason.evidence["event"], reason.evidence["code"], reason.blocking) == (event, "unforeseen", True)
    assert [delivery.code for delivery in post.client.failed_deliveries("all")] == ["unforeseen"]
    assert "LookupError at" in caplog.text
    assert "a secret" not in caplog.text

    post.clock.advance(seconds=60)
    post.drain()
    assert [each.event["id"] for each in receiver.came] == [event]


def test_a_port_on_which_nobody_listens_is_a_receiver_that_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert deliver(f"http://127.0.0.1:{port}/") == Verdict(Outcome.DOWN, "unreachable")


def test_tls_that_cannot_be_trusted_is_not_spoken_to(receiver: Receiver) -> None:
    assert deliver(f"https://127.0.0.1:{receiver.port}/").outcome is Outcome.DOWN
    assert receiver.came == []
