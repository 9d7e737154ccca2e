"""Signing in and out, with the session's cookie alone."""

from __future__ import annotations

import httpx
from playwright.sync_api import expect

from tests.ui.browsing import Screen, subject_page
from tests.ui.laboratory import PASSWORD


def _enter(screen: Screen, name: str, password: str) -> None:
    screen.page.get_by_label("Name").fill(name)
    screen.page.get_by_label("Password").fill(password)
    screen.page.get_by_role("button", name="Sign in").click()


def test_who_is_not_signed_in_is_led_through_the_door_to_where_they_wanted_to_go(visit, lab, context_of):
    wanted = subject_page(lab.subjects["blood 05"])
    screen = visit(None, wanted)
    expect(screen.title).to_have_text("Sign in")
    _enter(screen, "omar", "a guess")
    expect(screen.page.get_by_role("alert")).to_contain_text("The name or the password is wrong.")
    _enter(screen, "omar", PASSWORD)
    screen.page.wait_for_url(f"**{wanted}")
    expect(screen.page.get_by_role("button", name="signed in as user:omar")).to_be_visible()
    cookie = next(c for c in context_of(None).cookies() if c["name"] == "tenure_session")
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Lax")
    screen.page.get_by_role("button", name="signed in as user:omar").click()
    screen.page.get_by_role("button", name="Sign out").click()
    expect(screen.title).to_have_text("Sign in")
    screen.open("/ui/")
    expect(screen.title).to_have_text("Sign in")


def test_the_door_leads_nowhere_but_to_this_server(visit):
    for elsewhere in ("https://example.org/", "//example.org", "/api/v1/session", "/ui/\\example.org"):
        screen = visit(None, f"/ui/sign-in?next={elsewhere}")
        assert screen.page.evaluate("document.body.innerHTML").find("example.org") < 0


def test_a_page_closes_when_its_session_ends(visit, client, browser, address, lab):
    issued = client.create_token("user:obi")
    context = browser.new_context(base_url=address)
    context.add_cookies([{"name": "tenure_session", "value": issued.secret.reveal(), "url": address}])
    screen = Screen(context.new_page())
    screen.open("/ui/workers")
    client.revoke_token(issued.access_token.uid, reason="left the company")
    # The page may have closed by itself already: then there is no link any more.
    screen.page.evaluate("document.querySelector('a[href=\"/ui/leases\"]')?.click()")
    expect(screen.title).to_have_text("Sign in")
    context.close()


def test_what_is_held_is_given_back_before_signing_out(browser, address, client, lab, facts):
    client.create_principal("user:lea", roles=["worker_human"], display_name="Lea")
    client.set_password("user:lea", PASSWORD)
    client.define_queue("bench/leaving", manual_only=True)
    subject = client.submit(queue_key="bench/leaving", name="in hand").subject
    context = browser.new_context(base_url=address)
    screen = Screen(context.new_page())
    screen.open("/ui/desk")
    _enter(screen, "lea", PASSWORD)
    expect(screen.title).to_have_text("My desk")
    screen.row("bench/leaving").get_by_role("button").click()
    expect(screen.page.locator(".tn-work")).to_contain_text("in hand")
    screen.page.get_by_role("button", name="signed in as user:lea").click()
    screen.page.get_by_role("button", name="Sign out").click()
    expect(screen.dialog).to_contain_text("Give back what you hold")
    screen.button("Give back and sign out", within=screen.dialog).click()
    expect(screen.title).to_have_text("Sign in")
    type_, actor, data = facts(subject)[-1]
    assert (type_, actor, data["reason"]) == ("lease.released", "user:lea", "signed out")
    context.close()


def test_no_other_site_can_show_a_page_in_a_frame(address):
    answer = httpx.get(f"{address}/ui/sign-in")
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Cache-Control"] == "no-store"
