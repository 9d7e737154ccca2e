"""Every operator action of S1 section 10.2, driven in the browser; its fact is looked up in the database."""

from __future__ import annotations

from itertools import count

import pytest
from playwright.sync_api import expect

from tenure.model import euid
from tests.ui.browsing import subject_page, worker_page

_numbers = count(1)


@pytest.fixture
def work(client, lab):
    """Makes a subject that waits in a queue of its own kind of name."""

    def make(queue: str = "extraction", **more) -> int:
        return client.submit(queue_key=queue, name=f"work {next(_numbers)}", priority=-100, **more).subject

    return make


def test_the_state_of_every_queue_is_in_view(visit, lab):
    screen = visit("user:omar", "/ui/")
    row = screen.row("alignment")
    expect(row).to_contain_text("3")
    expect(screen.page.locator('tr[data-key="sequencing"]')).to_contain_text("none")
    expect(screen.row("archive")).to_contain_text("tape library is being moved")


def test_any_subject_can_be_inspected_with_its_reasons(visit, lab):
    screen = visit("user:obi", subject_page(lab.subjects["blood 04"]))
    expect(screen.page.locator(".tn-reasons")).to_contain_text("It is on hold (LABEL): label smudged")
    expect(screen.page.locator(".tn-reasons")).to_contain_text("Release the hold.")
    expect(screen.page.locator(".tn-evidence")).to_contain_text("service:setup")


def test_a_hold_is_placed_with_its_reason(visit, work, facts):
    subject = work()
    screen = visit("user:omar", subject_page(subject))
    screen.button("Hold").click()
    screen.send("Place hold", reason="label smudged", hold_code="LABEL")
    expect(screen.notice).to_contain_text("is on hold")
    type_, actor, data = facts(subject)[-1]
    assert (type_, actor, data["reason"], data["code"]) == ("hold.placed", "user:omar", "label smudged", "LABEL")
    expect(screen.page.locator(".tn-marks")).to_contain_text("held")
    screen.notice.get_by_role("link", name="Fact #2").click()
    expect(screen.page.locator("#fact-2")).to_contain_text("label smudged")


def test_a_hold_is_released_with_its_reason(visit, work, client, facts):
    subject = work()
    client.hold(subject, reason="stop")
    screen = visit("user:omar", subject_page(subject))
    screen.button("Release hold").click()
    screen.send("Release hold", reason="compared with the requisition")
    expect(screen.page.locator(".tn-marks")).to_contain_text("ready")
    type_, actor, data = facts(subject)[-1]
    assert (type_, actor, data["reason"]) == ("hold.released", "user:omar", "compared with the requisition")


def test_one_of_two_holds_is_released(visit, work, client, facts):
    subject = work()
    client.hold(subject, reason="first", hold_code="FIRST")
    client.hold(subject, reason="second", hold_code="SECOND")
    screen = visit("user:omar", subject_page(subject))
    screen.row("SECOND").get_by_role("button").click()
    screen.send("Release hold", reason="that one is settled")
    expect(screen.row("SECOND")).to_have_count(0)
    expect(screen.page.locator(".tn-marks")).to_contain_text("held")
    hold = next(h for h in client.history(subject).thread.holds.values() if h.hold_code == "SECOND")
    assert facts(subject)[-1][2]["hold"] == hold.uid


def test_a_subject_is_requeued_elsewhere_and_for_later(visit, work, client, facts):
    subject = work()
    screen = visit("user:omar", subject_page(subject))
    screen.button("Requeue").click()
    screen.send(
        "Requeue", reason="the robot is broken", queue_key="qc/manual", priority="7", ready_at="2031-05-01T08:30"
    )
    expect(screen.page.locator(".tn-reasons")).to_contain_text("not_yet_due")
    envelope = client.inspect(subject).situation.thread.envelope
    assert (envelope.next_queue_key, envelope.priority, envelope.ready_at.isoformat()) == (
        "qc/manual", 7, "2031-05-01T08:30:00+00:00",
    )  # fmt: skip
    type_, actor, data = facts(subject)[-1]
    assert (type_, actor, data["reason"]) == ("subject.requeued", "user:omar", "the robot is broken")


def test_a_subject_is_canceled(visit, work, facts):
    subject = work()
    screen = visit("user:omar", subject_page(subject))
    screen.button("Cancel").click()
    screen.send("Cancel for good", reason="consent was withdrawn")
    expect(screen.page.locator(".tn-marks")).to_contain_text("canceled")
    assert facts(subject)[-1][:2] == ("subject.canceled", "user:omar")


def test_an_admin_reopens_what_had_ended(visit, work, client, facts):
    subject = work()
    client.cancel(subject, reason="by mistake")
    screen = visit("user:ada", subject_page(subject))
    screen.button("Reopen").click()
    screen.send("Requeue", reason="it was canceled by mistake")
    expect(screen.page.locator(".tn-marks")).to_contain_text("ready")
    assert facts(subject)[-1][:2] == ("subject.requeued", "user:ada")


def test_a_dead_letter_is_resolved(visit, work, client, lab, facts):
    subject = _dead(work, client, lab)
    screen = visit("user:omar", subject_page(subject))
    expect(screen.page.locator("#tn-main")).to_contain_text("ValueError: broken")
    screen.button("Resolve dead letter").click()
    screen.send("Resolve", reason="the customer sent another file")
    expect(screen.button("Resolve dead letter")).to_have_count(0)
    type_, actor, data = facts(subject)[-1]
    assert (type_, actor, data["resolution"]) == ("dead_letter.resolved", "user:omar", "IGNORED")


def test_several_dead_letters_are_requeued_at_once(visit, work, client, lab, facts):
    subjects = [_dead(work, client, lab) for _ in range(2)]
    screen = visit("user:ada", "/ui/workbench")
    for subject in subjects:
        screen.row(euid.format_euid(euid.SUBJECT, subject)).get_by_role("checkbox").check()
    screen.button("Requeue 2").click()
    screen.send("Requeue", reason="the reference is back")
    expect(screen.notice).to_contain_text("2 subjects: requeued.")
    assert [facts(subject)[-1][:2] for subject in subjects] == [("subject.requeued", "user:ada")] * 2
    expect(screen.row(euid.format_euid(euid.SUBJECT, subjects[0]))).to_have_count(0)


def test_several_holds_are_released_at_once_and_a_refusal_is_told(visit, work, client, facts):
    subjects = [work() for _ in range(3)]
    for subject in subjects:
        client.hold(subject, reason="stop the line")
    screen = visit("user:omar", "/ui/workbench?view=holds")
    for subject in subjects:
        screen.row(euid.format_euid(euid.SUBJECT, subject)).get_by_role("checkbox").check()
    screen.button("Release 3").click()
    client.release_hold(subjects[1], reason="somebody else was faster")
    screen.dialog.get_by_label("Reason").fill("the line runs again")
    screen.button("Release hold", within=screen.dialog).click()
    expect(screen.dialog).to_contain_text("2 of 3 subjects")
    expect(screen.dialog).to_contain_text(euid.format_euid(euid.SUBJECT, subjects[1]))
    assert [facts(subject)[-1][1] for subject in subjects] == ["user:omar", "service:setup", "user:omar"]


def test_a_worker_is_drained_disabled_enabled_and_retired(visit, client, lab, facts):
    worker = client.register_worker("ui/spare", heartbeat_ttl_seconds=86400)
    screen = visit("user:ada", "/ui/workers")
    screen.button("Drain ui/spare").click()
    screen.send("Drain", reason="maintenance at noon")
    expect(screen.row("ui/spare")).to_contain_text("draining")
    screen.button("Disable ui/spare").click()
    screen.send("Disable", reason="it overheats")
    expect(screen.row("ui/spare")).to_contain_text("disabled")
    expect(screen.row("ui/spare")).to_contain_text("it overheats")
    screen.open(worker_page(worker.uid))
    screen.button("Enable").click()
    screen.send("Enable", reason="the fan was replaced")
    expect(screen.page.locator(".tn-marks")).to_contain_text("online")
    screen.button("Retire").click()
    screen.send("Retire", reason="sold")
    expect(screen.page.locator(".tn-marks")).to_contain_text("retired")
    told = [(type_, actor, (data or {}).get("reason")) for type_, actor, data in facts(worker.uid)[1:]]
    assert told == [
        ("worker.draining", "user:ada", "maintenance at noon"), ("worker.disabled", "user:ada", "it overheats"),
        ("worker.enabled", "user:ada", "the fan was replaced"), ("worker.retired", "user:ada", "sold"),
    ]  # fmt: skip
    expect(screen.page.locator("#fact-5")).to_contain_text("sold")


def test_a_live_lease_is_forced_to_expire(visit, work, client, lab, facts):
    subject = work()
    lease = client.claim(lab.workers["robot/hamilton-1"], "extraction", subject=subject, start=True)[0]
    name = euid.format_euid(euid.LEASE, lease.lease)
    screen = visit("user:ada", "/ui/leases")
    screen.button(f"Expire {name}").click()
    screen.send("Expire lease", reason="the robot stands still")
    expect(screen.row(name)).to_have_count(0)
    type_, actor, data = facts(subject)[-1]
    assert (type_, actor) == ("lease.expired", "user:ada")
    assert data["reason"] == "the robot stands still"


def test_a_subject_is_claimed_by_a_person_from_its_queue(visit, work, facts):
    subject = work("qc/manual")
    screen = visit("user:omar", "/ui/queues/qc%2Fmanual")
    screen.row(euid.format_euid(euid.SUBJECT, subject)).get_by_role("button").click()
    expect(screen.title).to_have_text("My desk")
    expect(screen.page.locator(".tn-work")).to_contain_text(euid.format_euid(euid.SUBJECT, subject))
    type_, actor, _ = facts(subject)[-1]
    assert (type_, actor) == ("lease.claimed", "user:omar")
    screen.button("Give back").click()
    screen.send("Give back", reason="end of the shift")


def _dead(work, client, lab) -> int:
    subject = work("alignment", max_attempts=1)
    lease = client.claim(lab.workers["align/north-1"], "alignment", subject=subject, start=True)[0]
    client.fail(lease, error_class="PERMANENT_INPUT", error_message="ValueError: broken")
    return subject
