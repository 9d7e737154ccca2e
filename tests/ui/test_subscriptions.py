"""Subscriptions on their screens: how far each has come, what it gave up, and what an admin does about it."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.ui.mail import AWAY, GOOD, PICKY, RESTING
from tests.waiting import until


def test_the_list_says_who_delivers_who_rests_and_whose_receiver_is_away(get, mail):
    listed = get("/ui/subscriptions").text
    for told in (GOOD, PICKY, AWAY, RESTING, "delivers", "rests", "receiver away", "unreachable"):
        assert told in listed, told
    assert "/events" not in listed  # the path of a URL may be a secret


def test_what_was_given_up_is_sent_once_more_or_ignored(visit, client, mail, facts):
    uid = client.subscription(PICKY).subscription.uid
    screen = visit("user:ada", "/ui/subscriptions")
    screen.row(PICKY).get_by_role("link", name=PICKY).click()
    letters = screen.page.get_by_role("table", name="What it gave up")
    expect(letters.locator("tbody tr")).to_have_count(3)
    assert all(button.is_disabled() for button in screen.page.get_by_role("button", name="Ignore").all())
    letters.get_by_role("checkbox").nth(1).check()
    screen.button("Ignore").click()
    screen.button("Ignore", within=screen.dialog).click()
    expect(screen.dialog).to_contain_text("A reason is needed")
    screen.send("Ignore", reason="nobody wants it")
    expect(letters.locator("tbody tr")).to_have_count(2)
    letters.get_by_role("checkbox").first.check()
    screen.button("Send once more: 2").click()
    screen.send("Send once more", reason="the receiver was mended")
    expect(screen.notice).to_contain_text("2 of 2 events are sent once more.")
    # It refuses them again: two new ones.
    until(lambda: client.subscription(PICKY).open_dead_letters == 2)
    screen.page.get_by_label("Show").select_option("all")
    expect(letters.locator("tbody tr")).to_have_count(5)
    expect(screen.row("ignored")).to_contain_text("nobody wants it, by user:ada")
    told = [
        (actor, data["resolution"]) for type_, actor, data in facts(uid) if type_ == "subscription.dead_letter_resolved"
    ]
    assert told == [("user:ada", "IGNORED"), ("user:ada", "REDELIVERED"), ("user:ada", "REDELIVERED")]


def test_a_subscription_is_tested_rested_and_resumed(visit, client, mail, facts):
    uid = client.subscription(GOOD).subscription.uid
    screen = visit("user:ada", f"/ui/subscriptions/{GOOD}")
    screen.button("Test").click()
    screen.button("Send", within=screen.dialog).click()
    expect(screen.notice).to_contain_text("A test is on its way")
    until(lambda: any(event["type"] == "tenure.subscription.tested" for event in mail.taken))
    screen.button("Pause").click()
    screen.send("Pause", reason="maintenance")
    expect(screen.page.locator(".tn-marks").first).to_contain_text("rests")
    expect(screen.button("Test")).to_have_attribute("title", "It rests: resume it first.")
    screen.button("Resume").click()
    screen.send("Resume", reason="done")
    expect(screen.button("Test")).to_be_enabled()
    changed = [(actor, data["reason"]) for type_, actor, data in facts(uid) if type_ == "subscription.changed"]
    assert changed[-2:] == [("user:ada", "maintenance"), ("user:ada", "done")]


def test_an_event_that_waits_says_why_and_is_given_up_by_hand(visit, client, mail, facts):
    uid = client.subscription(GOOD).subscription.uid
    mail.answer = lambda event: 500
    try:
        client.hold(client.submit(queue_key="told", name="poison").subject, reason="to be told of")
        screen = visit("user:ada", f"/ui/subscriptions/{GOOD}")
        waits = screen.page.get_by_role("table", name="What waits")
        expect(waits).to_contain_text("http_500", timeout=20_000)
        expect(screen.page.locator(".tn-reasons")).to_contain_text("event_fails")
        waits.get_by_role("button", name="Give up").click()
        screen.send("Give up", reason="it can never be taken")
        until(lambda: client.subscription(GOOD).open_dead_letters == 1)
        expect(screen.page.get_by_role("table", name="What it gave up")).to_contain_text("hold.placed", timeout=20_000)
        expect(waits).to_be_hidden(timeout=20_000)
    finally:
        mail.answer = lambda event: 204
    told = [(actor, data["reason"]) for type_, actor, data in facts(uid) if type_ == "subscription.give_up_requested"]
    assert told == [("user:ada", "it can never be taken")]


def test_a_new_key_is_shown_once_and_nothing_hides_it(visit, client, mail):
    screen = visit("user:ada", f"/ui/subscriptions/{AWAY}")
    screen.button("Rotate key").click()
    screen.button("Make a new key", within=screen.dialog).click()
    secret = screen.dialog.get_by_label("Shown this once")
    expect(secret).to_have_value(re.compile("^tnk_.{40,}$"))
    key = secret.input_value()
    screen.page.keyboard.press("Escape")
    expect(secret).to_be_visible()
    screen.button("I have kept it", within=screen.dialog).click()
    expect(screen.dialog).to_be_hidden()
    expect(screen.page.locator("#tn-once")).to_have_count(0)
    assert key not in screen.page.content()
    assert client.subscription(AWAY).keys == (1, 2)
    screen.button("Drop former key").click()
    screen.send("Drop it")
    expect(screen.button("Drop former key")).to_have_count(0)
    assert client.subscription(AWAY).keys == (2,)
