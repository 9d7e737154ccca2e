"""Screens follow what happens, keep focus and scroll while they do, and get over a database that is away."""

from __future__ import annotations

import psycopg
from playwright.sync_api import expect
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from tenure.model import euid
from tests.ui.browsing import subject_page

#: What the page sends, which titles it bears, and whether it went to a place within the screen.
_NOTE = """() => {
  const noted = (window.noted = { sent: [], titles: [], moved: false });
  const emit = window.socket.emit;
  window.socket.emit = function (name, ...what) {
    if (name === "event") noted.sent.push(what);
    return emit.call(this, name, ...what);
  };
  window.addEventListener("hashchange", () => (noted.moved = true), { once: true });
  new MutationObserver(() => noted.titles.push(document.title)).observe(
    document.querySelector("title"), { childList: true },
  );
}"""


def test_what_others_do_shows_without_a_reload(visit, client, lab):
    subject = client.submit(queue_key="qc/manual", name="watched").subject
    screen = visit("user:obi", subject_page(subject))
    client.hold(subject, reason="somebody else was here")
    expect(screen.page.locator(".tn-reasons")).to_contain_text("somebody else was here")
    expect(screen.page.locator("#fact-2")).to_contain_text("hold.placed")
    client.cancel(subject, reason="it was for a test")
    expect(screen.page.locator(".tn-marks")).to_contain_text("canceled")


def test_an_update_leaves_focus_selection_and_what_is_typed_alone(visit, client, lab):
    subjects = [client.submit(queue_key="qc/manual", name=f"kept {n}").subject for n in range(2)]
    for subject in subjects:
        client.hold(subject, reason="kept")
    name = euid.format_euid(euid.SUBJECT, subjects[0])
    screen = visit("user:omar", "/ui/workbench?view=holds")
    box = screen.row(name).get_by_role("checkbox")
    box.check()
    screen.button("Release").click()
    screen.dialog.get_by_label("Reason").fill("half a sen")
    client.release_hold(subjects[1], reason="somebody else")
    expect(screen.row(euid.format_euid(euid.SUBJECT, subjects[1]))).to_have_count(0)
    expect(screen.dialog.get_by_label("Reason")).to_have_value("half a sen")
    expect(screen.dialog.get_by_label("Reason")).to_be_focused()
    screen.page.keyboard.type("tence")
    screen.button("Release hold", within=screen.dialog).click()
    expect(screen.notice).to_contain_text("is released")


def test_a_link_to_a_place_within_the_screen_asks_for_no_screen(visit, client, lab):
    screen = visit("user:obi", subject_page(lab.subjects["blood 04"]))
    screen.page.evaluate(_NOTE)
    screen.page.evaluate("window.location.hash = 'fact-1'")
    screen.page.wait_for_function("window.noted.moved")
    assert screen.page.evaluate("window.noted.sent") == []


def test_a_screen_that_somebody_has_left_behind_is_not_taken_for_the_one_that_is_awaited(visit, lab):
    screen = visit("user:obi", "/ui/workers")
    screen.page.evaluate(_NOTE)
    screen.page.evaluate(
        "['/ui/runs', '/ui/leases'].forEach((to) => document.querySelector(`.tn-nav [href='${to}']`).click())"
    )
    expect(screen.title).to_have_text("Leases")
    screen.page.wait_for_function("document.title === 'Leases · Tenure'")
    assert screen.page.evaluate("window.noted.sent.length") == 2
    assert screen.page.evaluate("window.noted.titles") == ["Leases · Tenure"]


def test_ticks_set_at_once_are_all_kept(visit, client, lab):
    subjects = [client.submit(queue_key="qc/manual", name=f"ticked {n}").subject for n in range(3)]
    for subject in subjects:
        client.hold(subject, reason="to be ticked")
    screen = visit("user:omar", "/ui/workbench?view=holds")
    names = [euid.format_euid(euid.SUBJECT, subject) for subject in subjects]
    for name in names:
        expect(screen.row(name)).to_be_visible()
    screen.page.evaluate(
        "names => names.forEach((name) => document.querySelector(`[aria-label='Select ${name}']`).click())", names
    )
    expect(screen.button("Release 3")).to_be_visible()
    screen.row(names[1]).get_by_role("checkbox").uncheck()
    expect(screen.button("Release 2")).to_be_visible()
    for name in names:
        expect(screen.row(name).get_by_role("checkbox")).to_be_checked(checked=name != names[1])
    every = screen.page.get_by_label("Select all of Holds")
    every.check()
    expect(every).to_be_checked()
    every.uncheck()
    expect(screen.button("Release")).to_be_disabled()
    for subject in subjects:
        client.cancel(subject, reason="it was for a test")


def test_a_form_acts_once_however_often_it_is_sent(visit, client, lab, facts):
    subject = client.submit(queue_key="qc/manual", name="double").subject
    screen = visit("user:omar", subject_page(subject))
    screen.button("Hold").click()
    screen.dialog.get_by_label("Reason").fill("clicked twice")
    screen.button("Place hold", within=screen.dialog).dblclick(force=True)
    expect(screen.notice).to_contain_text("is on hold")
    assert [type_ for type_, _, _ in facts(subject)] == ["subject.submitted", "hold.placed"]


def test_a_refusal_is_shown_in_the_form_with_what_to_do(visit, client, lab):
    subject = client.submit(queue_key="qc/manual", name="refused").subject
    screen = visit("user:omar", subject_page(subject))
    screen.button("Requeue").click()
    screen.dialog.get_by_label("Reason").fill("somewhere else")
    screen.dialog.get_by_label("Queue").fill("no-such-queue")
    screen.button("Requeue", within=screen.dialog).click()
    expect(screen.dialog.get_by_role("alert")).to_contain_text("queue_unknown")
    screen.page.keyboard.press("Escape")
    expect(screen.dialog).to_be_hidden()


def test_a_database_that_is_away_is_told_and_the_screen_comes_back_by_itself(
    visit, client, lab, lab_database, admin, monkeypatch
):
    for name, seconds in (("_QUIET", 0.3), ("_PATIENCE", 1.0), ("_PULSE", 0.5)):
        monkeypatch.setattr(f"tenure.ui.page.{name}", seconds)
    name = sql.Identifier(str(conninfo_to_dict(lab_database)["dbname"]))
    subject = client.submit(queue_key="qc/manual", name="away").subject
    screen = visit("user:omar", subject_page(subject))
    admin.execute(sql.SQL("alter database {} allow_connections false").format(name))
    try:
        _cut(admin, lab_database)
        expect(screen.page.locator(".tn-banner")).to_contain_text("The database does not answer", timeout=20_000)
        expect(screen.page.locator(".tn-live")).to_have_text("not live")
        expect(screen.title).to_be_visible()
        screen.page.get_by_role("link", name="Workers").click()
        expect(screen.title).to_have_text("The database does not answer.")
    finally:
        admin.execute(sql.SQL("alter database {} allow_connections true").format(name))
    expect(screen.title).to_have_text("Workers", timeout=20_000)
    expect(screen.page.locator(".tn-banner")).to_have_count(0)
    screen.page.go_back()
    client.hold(subject, reason="back again")
    expect(screen.page.locator(".tn-reasons")).to_contain_text("back again")


def _cut(admin: psycopg.Connection, dsn: str) -> None:
    admin.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", [conninfo_to_dict(dsn)["dbname"]]
    )
