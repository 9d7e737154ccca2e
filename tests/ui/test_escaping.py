"""What people typed is text on every screen, never markup."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.ui.browsing import subject_page
from tests.ui.laboratory import MARKUP


def test_a_name_with_markup_is_shown_as_it_was_typed(visit, lab, client):
    subject = lab.subjects[MARKUP]
    client.hold(subject, reason=MARKUP)
    screen = visit("user:ada", subject_page(subject))
    for path in (subject_page(subject), "/ui/workbench?view=holds", "/ui/search?q=%3Cimg%20src=x%20onerror=hurt()%3E"):
        screen.open(path)
        expect(screen.page.locator("#tn-main")).to_contain_text("<img src=x")
        assert screen.page.locator("#tn-main img").count() == 0
        assert screen.page.evaluate("window.hurt") is None
    client.release_hold(subject, reason="it was for a test")
    screen.open("/ui/queues/alignment")
    expect(screen.row("<img src=x")).to_contain_text("{{7*7}} & 'co'")
    assert screen.page.evaluate("window.hurt") is None


def test_a_refused_name_of_a_queue_is_shown_as_text(visit):
    screen = visit("user:obi", "/ui/queues/%3Cscript%3Ewindow.hurt=1%3C%2Fscript%3E")
    expect(screen.title).to_contain_text("<script>window.hurt=1</script>")
    assert screen.page.evaluate("window.hurt") is None


def test_characters_that_no_name_has_are_no_incident(get):
    for path in (
        "/ui/submissions?job=a%00b",
        "/ui/runs?key=%00",
        "/ui/queues/%00",
        "/ui/subscriptions/a%00b",
        "/ui/nodes/%00",
    ):
        assert "Incident" not in get(path).raise_for_status().text
