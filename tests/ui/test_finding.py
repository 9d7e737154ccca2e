"""Long lists: narrowed by the server, turned page by page; subjects found by name, state and queue."""

from __future__ import annotations

from playwright.sync_api import expect

from tenure.model import euid
from tests.ui.slow_line import SlowLine


def test_items_are_narrowed_by_site_assay_and_state(visit, lab):
    screen = visit("user:obi", "/ui/queues/qc%2Fmanual")
    rows = screen.page.locator("tbody tr")
    screen.page.get_by_label("Site").fill("leiden")
    screen.page.keyboard.press("Enter")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("eluate 04")
    screen.page.get_by_label("Assay").fill("WGS")
    screen.page.keyboard.press("Tab")
    expect(screen.page.locator(".tn-empty")).to_contain_text("Nothing here fits")
    screen.button("Clear").click()
    screen.page.get_by_label("State").select_option("READY")
    expect(screen.row("eluate 03")).to_have_count(1)
    screen.page.get_by_label("State").select_option("FAILED_RETRYABLE")
    expect(screen.row("eluate 03")).to_have_count(0)


def test_choices_are_all_kept_however_late_the_server_shows_them(visit, lab):
    screen = visit("user:obi", "/ui/queues/qc%2Fmanual")
    with SlowLine(screen.page) as line:
        expect(screen.row("eluate 03")).to_be_visible()
        line.hold()
        screen.page.get_by_label("State").select_option("READY")
        line.wait_for('"READY"')
        screen.page.get_by_label("Site").fill("leiden")
        screen.page.get_by_label("Site").press("Enter")
        line.let_through()  # as it was before the second choice
        expect(screen.page.get_by_label("Site")).to_have_value("")
        screen.page.get_by_label("Assay").fill("WGS")
        screen.page.get_by_label("Assay").press("Enter")
        line.go_on()
        for label, value in (("State", "READY"), ("Site", "leiden"), ("Assay", "WGS")):
            expect(screen.page.get_by_label(label)).to_have_value(value)
        expect(screen.page.locator(".tn-empty")).to_contain_text("Nothing here fits")


def test_a_deep_queue_is_turned_page_by_page_in_execution_order(visit, client, lab):
    client.define_queue("deep")
    client.submit_many([{"queue_key": "deep", "name": f"item {n:03}", "priority": -n} for n in range(120)])
    screen = visit("user:obi", "/ui/queues/deep")
    rows = screen.page.locator("tbody tr")
    expect(rows).to_have_count(50)
    expect(rows.first).to_contain_text("item 000")
    screen.button("Next").click()
    expect(rows.first).to_contain_text("item 050")
    screen.button("Next").click()
    expect(rows.first).to_contain_text("item 100")
    expect(rows).to_have_count(20)
    expect(screen.button("Next")).to_be_disabled()
    screen.button("Previous").click()
    expect(rows.first).to_contain_text("item 050")


def test_subjects_are_found_by_how_their_name_begins(visit, lab):
    screen = visit("user:obi", "/ui/")
    screen.page.keyboard.press("/")
    screen.page.keyboard.type("blood 0")
    screen.page.keyboard.press("Enter")
    expect(screen.title).to_have_text("Found for “blood 0”")
    expect(screen.page.locator("tbody tr")).to_have_count(6)
    screen.page.get_by_label("State").select_option("HELD")
    expect(screen.page.locator("tbody tr")).to_have_count(1)
    screen.page.keyboard.press("Escape")
    screen.page.get_by_role("link", name=euid.format_euid(euid.SUBJECT, lab.subjects["blood 04"])).click()
    expect(screen.title).to_have_text(euid.format_euid(euid.SUBJECT, lab.subjects["blood 04"]))


def test_dead_letters_of_one_queue_are_listed_from_its_row(visit, lab):
    screen = visit("user:obi", "/ui/")
    screen.page.locator('tr[data-key="alignment"]').get_by_role("link").last.click()
    expect(screen.title).to_have_text("Workbench")
    expect(screen.page.get_by_label("Queue")).to_have_value("alignment")
    expect(screen.row("damaged 1")).to_have_count(1)
    screen.page.get_by_label("Queue").select_option("extraction")
    expect(screen.page.locator(".tn-empty")).to_contain_text("No dead letter is open")
