"""A person as a worker: claim, renew, complete, fail, put off, give back; the keyboard is enough."""

from __future__ import annotations

from itertools import count

import pytest
from playwright.sync_api import expect

from tenure.model import euid
from tenure.model.states import State
from tests.ui.browsing import Screen, subject_page

_numbers = count(1)


@pytest.fixture
def queue(client, lab):
    """A queue of its own for one test."""
    return client.define_queue(f"bench/{next(_numbers)}", lease_ttl_seconds=900, manual_only=True).queue_key


@pytest.fixture
def at_work(visit, client, queue):
    """A technician who has claimed a subject by the keyboard: the screen and the subject."""

    def begin(**more) -> tuple[Screen, int]:
        subject = client.submit(queue_key=queue, name="tube 1", properties={"volume_ul": 250}, **more).subject
        screen = visit("user:wim", f"/ui/queues/{queue.replace('/', '%2F')}")
        expect(screen.button("Claim next")).to_be_enabled()
        screen.page.keyboard.press("c")
        expect(screen.title).to_have_text("My desk")
        expect(screen.page.locator(".tn-work")).to_contain_text(euid.format_euid(euid.SUBJECT, subject))
        return screen, subject

    return begin


def test_work_is_claimed_and_completed_by_keys_alone(at_work, client, facts):
    screen, subject = at_work()
    expect(screen.page.locator(".tn-work")).to_contain_text('"volume_ul": 250')
    screen.page.keyboard.press("e")
    expect(screen.dialog.get_by_label("Result")).to_be_focused()
    screen.page.keyboard.type('{"passed": true}')
    screen.page.keyboard.press("Control+Enter")
    expect(screen.notice).to_contain_text("is done")
    assert [fact[:2] for fact in facts(subject)[1:]] == [
        ("lease.claimed", "user:wim"), ("execution.completed", "user:wim"),
    ]  # fmt: skip
    assert client.history(subject).attempts[0].result == {"passed": True}


def test_what_is_no_json_is_refused_before_anything_happens(at_work, facts):
    screen, subject = at_work()
    screen.button("Complete").click()
    screen.fill("Result", "{passed")
    screen.button("Complete", within=screen.dialog).click()
    expect(screen.dialog).to_contain_text("The result is no JSON")
    assert len(facts(subject)) == 2
    screen.fill("Result", "")
    screen.send("Complete")


def test_work_goes_on_to_the_next_queue(at_work, client, facts):
    screen, subject = at_work()
    screen.button("Complete").click()
    screen.select("next_queue_key", "sequencing")
    screen.send("Complete", next_action_key="load_flowcell")
    expect(screen.notice).to_contain_text("is done")
    envelope = client.inspect(subject).situation.thread.envelope
    assert (envelope.next_queue_key, envelope.next_action_key) == ("sequencing", "load_flowcell")


def test_a_failure_is_reported_with_class_and_message(at_work, client, facts):
    screen, subject = at_work()
    screen.button("Report a failure").click()
    screen.select("error_class", "BUSINESS_RULE_HOLD")
    screen.button("Report failure", within=screen.dialog).click()
    expect(screen.dialog).to_contain_text("Say what happened")
    screen.send("Report failure", error_message="the label cannot be read", error_code="label_unreadable")
    expect(screen.notice).to_contain_text("reported as failed")
    type_, actor, data = facts(subject)[-1]
    assert (type_, actor, data["error_class"], data["error_code"]) == (
        "execution.failed", "user:wim", "BUSINESS_RULE_HOLD", "label_unreadable",
    )  # fmt: skip
    assert client.inspect(subject).situation.thread.envelope.state is State.HELD


def test_a_lease_is_renewed(at_work, facts):
    screen, subject = at_work()
    screen.page.keyboard.press("n")
    screen.send("Renew")
    expect(screen.notice).to_contain_text("is renewed")
    assert facts(subject)[-1][:2] == ("lease.renewed", "user:wim")
    screen.button("Complete").click()
    screen.send("Complete")


def test_work_is_put_off_without_spending_an_attempt(at_work, client, facts):
    screen, subject = at_work()
    screen.button("Put off").click()
    screen.send("Put off", minutes="45")
    expect(screen.notice).to_contain_text("is put off")
    assert facts(subject)[-1][:2] == ("execution.deferred", "user:wim")
    assert client.inspect(subject).situation.thread.envelope.attempt_count == 0


def test_work_is_given_back(at_work, facts):
    screen, subject = at_work()
    screen.button("Give back").click()
    screen.send("Give back", reason="end of the shift")
    expect(screen.notice).to_contain_text("is given back")
    assert facts(subject)[-1][:2] == ("lease.released", "user:wim")


def test_what_was_claimed_in_another_session_is_finished_there(at_work, client, browser, address, facts):
    screen, subject = at_work()
    context = browser.new_context(base_url=address)
    secret = client.create_token("user:wim").secret.reveal()
    context.add_cookies([{"name": "tenure_session", "value": secret, "url": address}])
    elsewhere = Screen(context.new_page())
    elsewhere.open("/ui/desk")
    elsewhere.button("Complete").click()
    elsewhere.button("Complete", within=elsewhere.dialog).click()
    expect(elsewhere.dialog).to_contain_text("It was claimed in another session")
    context.close()
    screen.button("Complete").click()
    screen.send("Complete")
    assert facts(subject)[-1][0] == "execution.completed"


def test_a_desk_with_the_capability_takes_what_needs_it(visit, client, lab, facts):
    client.define_queue("bench/gpu", required_worker_capabilities=("gpu",), dispatch_priority=1)
    subject = client.submit(queue_key="bench/gpu", name="needs a GPU").subject
    screen = visit("user:ada", "/ui/desk")
    expect(screen.row("bench/gpu").get_by_role("button")).to_be_disabled()
    screen.button("Set up").click()
    screen.send("Save", capabilities="gpu, pipette", site_scope="boston")
    screen.row("bench/gpu").get_by_role("button").click()
    expect(screen.page.locator(".tn-work")).to_contain_text("needs a GPU")
    assert facts(subject)[-1][:2] == ("lease.claimed", "user:ada")
    screen.button("Give back").click()
    screen.send("Give back", reason="it was a test of the desk")
    screen.open(subject_page(subject))
    expect(screen.page.locator(".tn-timeline")).to_contain_text("it was a test of the desk")
