"""Who may not act is told so, or sees no button; and the server refuses what a page did not offer."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.ui.browsing import subject_page


def test_an_observer_can_act_nowhere(visit, lab):
    screen = visit("user:obi", subject_page(lab.subjects["blood 05"]))
    for name in ("Hold", "Requeue", "Cancel", "Claim"):
        expect(screen.button(name)).to_be_disabled()
    expect(screen.button("Hold")).to_have_attribute("title", "Needs one of the roles operator, admin.")
    screen.page.keyboard.press("h")
    expect(screen.dialog).to_be_hidden()
    for path in ("/ui/workers", "/ui/leases", "/ui/queues/extraction"):
        screen.open(path)
        expect(screen.page.locator("tbody tr").first).to_be_visible()
        expect(screen.page.locator("tbody button")).to_have_count(0)


def test_an_operator_is_no_admin(visit, lab):
    screen = visit("user:omar", subject_page(lab.subjects["damaged 1"]))
    expect(screen.button("Resolve dead letter")).to_be_enabled()
    expect(screen.button("Reopen")).to_have_attribute("title", "Needs one of the roles admin.")
    screen.open("/ui/leases")
    expect(screen.page.locator("tbody tr").first).to_be_visible()
    expect(screen.page.get_by_role("button", name="Expire")).to_have_count(0)


def test_a_role_taken_away_counts_at_once(visit, client, lab, facts):
    client.create_principal("user:una", roles=["operator"])
    subject = client.submit(queue_key="extraction", name="of una").subject
    secret = client.create_token("user:una").secret.reveal()
    screen = visit(None, "/ui/sign-in", locale="en-GB")
    screen.page.context.add_cookies([{"name": "tenure_session", "value": secret, "url": screen.page.url}])
    screen.open(subject_page(subject))
    screen.button("Hold").click()
    client.change_principal("user:una", roles=["observer"], reason="moved to another team")
    screen.dialog.get_by_label("Reason").fill("too late")
    screen.button("Place hold", within=screen.dialog).click()
    expect(screen.dialog).to_contain_text("This needs the permission to operate.")
    expect(screen.dialog).to_contain_text("Ask an admin for one of the roles operator, admin.")
    assert len(facts(subject)) == 1
