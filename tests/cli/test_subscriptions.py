"""``tenure subscription`` and ``tenure relay``, as a user types them."""

from __future__ import annotations

import pytest

from tests.ledger.receiver import Receiver


@pytest.fixture
def receiver():
    with Receiver() as made:
        yield made


@pytest.fixture
def defined(tenure, receiver):
    answer = tenure(
        "subscription", "define", "shop", "--url", receiver.url, "--allow-private", "--type", "queue.*", "--json"
    )
    assert answer.code == 0
    return answer.json


def test_a_subscription_from_its_definition_to_its_end(tenure, receiver, defined):
    assert defined["key"]["text"].startswith("tnk_")
    tenure("queue", "define", "thumbs")
    assert tenure("relay", "--drain").code == 0
    assert [event["type"] for event in receiver.taken] == ["tenure.queue.defined"]

    assert "1" in tenure("subscription", "list").out
    shown = tenure("subscription", "show", "shop")
    assert receiver.url in shown.out.replace("\n", "")
    assert defined["key"]["text"] not in shown.out + tenure("subscription", "show", "shop", "--json").out
    assert tenure("subscription", "rotate-key", "shop", "--json").json["key"]["number"] == 2
    assert tenure("subscription", "rotate-key", "shop", "--drop-former", "--json").json["key"] is None
    assert tenure("subscription", "pause", "shop", "--reason", "stocktaking").code == 0
    assert "rests" in tenure("subscription", "list").out
    assert tenure("subscription", "resume", "shop").code == 0
    assert tenure("subscription", "remove", "shop").code == 0
    assert tenure("subscription", "list").out.strip() == "There are no subscriptions."


def test_what_was_given_up_is_listed_sent_again_or_ignored(tenure, receiver, defined):
    receiver.answer = lambda _: 422
    for name in ("one", "two"):
        tenure("queue", "define", name)
    tenure("relay", "--drain")
    letters = tenure("subscription", "deadletters", "shop", "--json").lines
    assert [letter["status"] for letter in letters] == ["OPEN", "OPEN"]
    assert "http_422" in tenure("subscription", "show", "shop").out

    receiver.answer = lambda _: 200
    assert tenure("subscription", "redeliver", "shop", letters[0]["euid"]).code == 0
    assert tenure("subscription", "ignore", "shop", letters[1]["euid"], "--reason", "a test").code == 0
    assert tenure("subscription", "ignore", "shop", letters[1]["euid"], "--reason", "a test").code == 1
    tenure("relay", "--drain")
    assert len(receiver.taken) == 1
    assert tenure("subscription", "deadletters", "shop").out.strip() == "It has given up nothing."
    assert len(tenure("subscription", "deadletters", "shop", "--all", "--json").lines) == 2


def test_a_test_says_that_no_relay_runs(tenure, defined):
    answer = tenure("subscription", "test", "shop", "--wait", "0")
    assert answer.code == 3
    assert "tenure relay" in answer.err


def test_events_go_to_a_file(tenure, tmp_path):
    tenure("subscription", "define", "log", "--file", "events.jsonl", "--type", "queue.*")
    tenure("queue", "define", "thumbs")
    tenure("relay", "--drain", "--files", str(tmp_path))
    (line,) = (tmp_path / "default" / "events.jsonl").read_text().splitlines()
    assert '"type":"tenure.queue.defined"' in line


@pytest.mark.parametrize(
    "given",
    [
        ["--type", "*"], ["--url", "https://a.example", "--stdout", "--type", "*"], ["--stdout"],
        ["--stdout", "--type", "no.such"], ["--url", "http://a.example", "--type", "*"],
        ["--stdout", "--type", "*", "--start", "yesterday"], ["--stdout", "--type", "*", "--on-poison", "explode"],
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_a_sentence(tenure, given):
    answer = tenure("subscription", "define", "shop", *given)
    assert answer.code in (1, 2)
    assert "Traceback" not in answer.err
    assert answer.err


def test_an_event_that_fails_is_shown_explained_and_given_up(tenure, receiver, defined):
    receiver.answer = lambda _: 500
    tenure("queue", "define", "one")
    tenure("relay", "--drain")
    (event,) = tenure("subscription", "waiting", "shop", "--json").lines
    assert (event["code"], event["tries"]) == ("http_500", 1)
    shown = tenure("subscription", "show", "shop", "--json").json
    assert shown["waiting"] == [event]
    assert event["event"] in tenure("subscription", "show", "shop").out
    why = tenure("subscription", "why", "shop", "--json").json
    assert [reason["code"] for reason in why] == ["no_relay", "event_fails"]
    assert "tried for ever" in " ".join(tenure("subscription", "why", "shop").out.split())

    given = tenure("subscription", "give-up", "shop", event["event"], "--reason", "a test")
    assert given.code == 0
    tenure("relay", "--drain")
    (letter,) = tenure("subscription", "deadletters", "shop", "--json").lines
    assert letter["code"] == "given_up_by_hand"
    assert tenure("subscription", "waiting", "shop").out.strip() == "Nothing waits."


def test_how_long_is_kept_what_is_no_fact(tenure):
    assert [(r["kind"], r["days"]) for r in tenure("retention", "list", "--json").lines] == [
        ("inbox", 90),
        ("delivery", 30),
    ]
    assert tenure("retention", "set", "inbox", "--days", "180", "--reason", "a slow sender").code == 0
    assert "180" in tenure("retention", "list").out
    refused = tenure("retention", "set", "inbox", "--days", "3")
    assert (refused.code, "7 to 3650 days" in refused.err) == (1, True)
    assert tenure("retention", "set", "facts", "--days", "30").code == 1
    assert tenure("retention", "clean", "--json").json == {"removed": 0}
