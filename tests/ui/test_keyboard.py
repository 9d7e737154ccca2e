"""The keyboard is enough to find, to walk and to act; no shortcut is in the way of typing."""

from __future__ import annotations

from playwright.sync_api import expect

from tenure.model import euid
from tests.ui.browsing import subject_page


def test_slash_finds_a_subject_by_its_euid_and_by_its_reference(visit, lab):
    name = euid.format_euid(euid.SUBJECT, lab.subjects["blood 05"])
    screen = visit("user:obi", "/ui/")
    for text in (name.lower(), "LIMS-4715"):
        screen.page.keyboard.press("/")
        screen.page.keyboard.type(text)
        screen.page.keyboard.press("Enter")
        expect(screen.title).to_have_text(name)
        screen.page.get_by_role("link", name="Queues", exact=True).first.click()
        expect(screen.title).to_have_text("Queues")


def test_a_mistyped_euid_finds_nothing_and_says_what_can_be_looked_for(visit):
    screen = visit("user:obi", "/ui/search?q=SX-00000")
    expect(screen.page.locator(".tn-empty")).to_contain_text("Nothing was found")


def test_j_k_and_enter_walk_a_list(visit, lab):
    screen = visit("user:obi", "/ui/")
    for key in "jjk":
        screen.page.keyboard.press(key)
    expect(screen.page.locator("tr.is-here")).to_contain_text("extraction")
    screen.page.keyboard.press("Enter")
    expect(screen.title).to_have_text("extraction")
    expect(screen.title).to_be_focused()
    screen.page.go_back()
    expect(screen.title).to_have_text("Queues")


def test_g_and_a_letter_go_to_a_screen(visit):
    screen = visit("user:obi", "/ui/")
    for letter, title in (("w", "Workers"), ("l", "Leases"), ("b", "Workbench"), ("d", "My desk"), ("q", "Queues")):
        screen.go(letter, title)


def test_shortcuts_can_be_switched_off_and_never_hinder_typing(visit, lab):
    screen = visit("user:omar", subject_page(lab.subjects["blood 05"]))
    screen.page.keyboard.press("/")
    screen.page.keyboard.type("hr?")
    expect(screen.dialog).to_be_hidden()
    screen.page.keyboard.press("Escape")
    screen.page.keyboard.press("?")
    screen.dialog.get_by_label("Use single-key shortcuts").uncheck()
    screen.page.keyboard.press("Escape")
    screen.page.keyboard.press("h")
    expect(screen.dialog).to_be_hidden()
    screen.page.evaluate("localStorage.clear()")


def test_the_first_tab_skips_to_the_content(visit):
    screen = visit("user:obi", "/ui/workers", fresh=True)
    screen.page.keyboard.press("Tab")
    expect(screen.page.get_by_text("Skip to content")).to_be_focused()
    screen.page.keyboard.press("Enter")
    expect(screen.page.locator("#tn-main")).to_be_focused()


def test_after_a_dialog_the_focus_is_where_it_was(visit, lab):
    screen = visit("user:omar", subject_page(lab.subjects["blood 05"]))
    screen.button("Hold").focus()
    screen.page.keyboard.press("Enter")
    expect(screen.dialog.get_by_label("Reason")).to_be_focused()
    screen.page.keyboard.press("Escape")
    expect(screen.button("Hold")).to_be_focused()
