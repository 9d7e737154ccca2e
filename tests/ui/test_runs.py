"""Runs on their screens: found, read step by step, decided on, paused, canceled; each deed is a fact in a person's name."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tenure.flow.model.builder import Workflow
from tenure.model import euid
from tests.ui.browsing import subject_page
from tests.ui.flows import QUEUE, run_page
from tests.ui.laboratory import MARKUP

_GATE = (
    Workflow("gate", queue=QUEUE)
    .approval("sign", on_error="undo", prompt="Is it the right tube?")
    .task("go", after="sign")
    .task("undo")
)


@pytest.fixture
def begin(client, lab) -> Iterator[Callable[..., int]]:
    """Starts runs that stand at an approval; afterwards none of them stands there any more."""
    client.define_workflow(_GATE)
    begun: list[int] = []

    def start(**value: object) -> int:
        begun.append(client.start_run("gate", value).run)
        return begun[-1]

    yield start
    for run in begun:
        if client.inspect_run(run).end is None:
            client.cancel_run(run)


def test_runs_are_found_by_workflow_status_and_key(visit, lab):
    screen = visit("user:obi", "/ui/")
    screen.go("u", "Runs")
    screen.page.get_by_label("Workflow", exact=True).select_option("report")
    screen.page.get_by_label("Status").select_option("FAILED")
    expect(screen.row("r-failed")).to_be_visible()
    expect(screen.row("r-waiting")).to_have_count(0)
    screen.button("Clear").click()
    screen.page.get_by_label("Key", exact=True).fill("r-waiting")
    screen.page.keyboard.press("Enter")
    expect(screen.page.locator("tbody tr")).to_have_count(1)
    expect(screen.row("r-waiting")).to_contain_text("release")
    screen.page.get_by_label("Key", exact=True).fill("no such key")
    screen.page.keyboard.press("Enter")
    expect(screen.page.locator(".tn-empty")).to_contain_text("No run fits")


def test_a_step_leads_to_its_subjects_and_they_lead_back(visit, lab):
    screen = visit("user:obi", run_page(lab.runs["r-lanes"]))
    steps = screen.page.locator(".tn-step")
    expect(steps).to_have_count(5)
    expect(screen.page.locator("[data-step=prepare]")).to_have_class("tn-step is-ok")
    expect(screen.page.locator("[data-step=lanes]")).to_have_attribute("aria-pressed", "true")
    expect(screen.page.get_by_role("table", name="Subjects of the step").locator("tbody tr")).to_have_count(4)
    expect(screen.row("lanes[1]")).to_contain_text("truncated")
    screen.page.locator("[data-step=prepare]").focus()
    screen.page.keyboard.press("Enter")
    expect(screen.page.locator(".tn-detail h2")).to_have_text("prepare")
    screen.page.get_by_role("table", name="Subjects of the step").get_by_role("link").click()
    screen.page.get_by_role("link", name="step prepare of run").click()
    expect(screen.title).to_have_text(euid.format_euid(euid.RUN, lab.runs["r-lanes"]))
    expect(screen.page.locator(".tn-detail h2")).to_have_text("prepare")


def test_items_children_and_history_of_a_run_are_turned_page_by_page(visit, client, lab):
    client.define_workflow(Workflow("wide", queue=QUEUE).map("item", "$.input.items", max_parallel=100))
    run = client.start_run("wide", {"items": list(range(60))}).run
    screen = visit("user:obi", run_page(run))
    items = screen.page.get_by_role("table", name="Subjects of the step")
    seen = []
    for many in (25, 25, 10):
        expect(items.locator("tbody tr")).to_have_count(many)
        seen += items.locator("tbody tr").evaluate_all("rows => rows.map(row => row.dataset.key)")
        if many == 25:
            screen.button("Next").click()
            expect(items.locator("tbody tr").first).not_to_have_attribute("data-key", seen[-25])
    assert sorted(seen) == sorted(f"item[{number}]" for number in range(60))
    expect(screen.button("Next")).to_be_disabled()
    client.cancel_run(run)
    for _ in range(14):
        client.signal_run(lab.runs["r-paused"], "late")
        client.resume_run(lab.runs["r-paused"], reason="look")
        client.pause_run(lab.runs["r-paused"], reason="the sequencer is being moved")
    screen.open(run_page(lab.runs["r-paused"]))
    history = screen.page.locator(".tn-timeline li")
    expect(history).to_have_count(26)
    newest = history.first.get_attribute("id")
    screen.button("Older").click()
    expect(screen.page.locator("#fact-1")).to_contain_text("run.started")
    expect(screen.button("Older")).to_be_disabled()
    screen.button("Newer").click()
    expect(history.first).to_have_attribute("id", str(newest))


def test_a_parent_and_its_child_lead_to_each_other(visit, client, lab):
    parent = euid.format_euid(euid.RUN, lab.runs["r-batch"])
    screen = visit("user:obi", f"/ui/search?q={parent}")
    expect(screen.title).to_have_text(parent)
    children = screen.page.get_by_role("table", name="Child runs")
    children.get_by_role("link").first.click()
    expect(screen.title).not_to_have_text(parent)
    screen.page.locator(".tn-properties").get_by_role("link", name=parent).click()
    expect(screen.title).to_have_text(parent)


def test_a_run_is_approved_in_the_inbox(visit, begin, facts, client):
    run = begin(sample="A-17")
    name = euid.format_euid(euid.RUN, run)
    screen = visit("user:omar", "/ui/workbench")
    screen.page.get_by_role("link", name="Approvals").click()
    expect(screen.row(name)).to_contain_text("A-17")
    expect(screen.row(name)).to_contain_text("Is it the right tube?")
    screen.button(f"Approve {name}").click()
    expect(screen.dialog).to_contain_text("Is it the right tube?")
    screen.send("Approve", comment="looks right")
    expect(screen.notice).to_contain_text("is approved")
    expect(screen.row(name)).to_have_count(0)
    resolved = [(actor, data) for type_, actor, data in facts(run) if type_ == "run.step_resolved"]
    assert [(actor, data["decision"], data["comment"]) for actor, data in resolved] == [
        ("user:omar", "approved", "looks right")
    ]


def test_whom_a_step_does_not_name_sees_who_may_decide(visit, client):
    client.define_workflow(Workflow("signed", queue=QUEUE).approval("sign", approvers=["user:obi"]))
    run = client.start_run("signed", {}).run
    told = "Only user:obi may decide at 'sign', and user:omar is not among them."
    for address in ("/ui/workbench/approvals", run_page(run)):
        screen = visit("user:omar", address)
        row = screen.row(euid.format_euid(euid.RUN, run)) if "approvals" in address else screen.page
        refused = row.get_by_role("button", name="Approve")
        expect(refused).to_be_disabled()
        expect(refused).to_have_attribute("title", told)
    client.cancel_run(run)


def test_a_run_is_rejected_with_a_comment_and_takes_its_other_way(visit, begin, facts):
    run = begin()
    screen = visit("user:omar", run_page(run))
    expect(screen.page.locator(".tn-reasons")).to_contain_text("manual_boundary")
    screen.button("Reject").click()
    screen.button("Reject", within=screen.dialog).click()
    expect(screen.dialog).to_contain_text("Say why")
    screen.send("Reject", comment="smudged")
    expect(screen.page.locator("[data-step=undo]")).to_have_class("tn-step is-active")
    expect(screen.page.locator("[data-step=go]")).to_have_class("tn-step is-skipped")
    _, actor, data = next(fact for fact in facts(run) if fact[0] == "run.step_resolved")
    assert (actor, data["decision"], data["comment"]) == ("user:omar", "rejected", "smudged")


def test_a_run_is_paused_resumed_signaled_and_canceled(visit, begin, facts, client):
    run = begin()
    client.approve(run)
    screen = visit("user:omar", run_page(run))
    screen.button("Pause").click()
    screen.send("Pause", reason="wait for the reagent")
    expect(screen.page.locator(".tn-marks").first).to_contain_text("paused")
    expect(screen.page.locator(".tn-reasons")).to_contain_text("wait for the reagent")
    screen.button("Resume").click()
    screen.send("Resume", reason="it is here")
    expect(screen.page.locator(".tn-marks").first).to_contain_text("running")
    screen.button("Signal").click()
    screen.dialog.get_by_label("Name").fill("reagent")
    screen.dialog.get_by_label("Payload").fill("{not json")
    screen.button("Send", within=screen.dialog).click()
    expect(screen.dialog.get_by_role("alert")).to_contain_text("no JSON")
    screen.send("Send", payload='{"lot": 7}')
    screen.button("Cancel").click()
    screen.send("Cancel the run", reason="not wanted any more")
    expect(screen.page.locator(".tn-marks").first).to_contain_text("canceled")
    expect(screen.button("Replay")).to_be_enabled()
    told = {type_: (actor, (data or {}).get("reason")) for type_, actor, data in facts(run)}
    assert told["run.paused"] == ("user:omar", "wait for the reagent")
    assert told["run.resumed"] == ("user:omar", "it is here")
    assert told["run.signal_received"][0] == "user:omar"
    assert told["run.cancel_requested"] == ("user:omar", "not wanted any more")
    assert told["run.terminal"][0] == "user:omar"


def test_a_failed_run_is_retried_and_replayed_as_new_runs(visit, client, lab, facts):
    failed = lab.runs["r-failed"]
    screen = visit("user:omar", run_page(failed))
    for deed in ("Retry", "Replay"):
        screen.button(deed).click()
        screen.send(deed, reason="the file is whole now")
        screen.notice.get_by_role("link", name="Open the new run").click()
        expect(screen.page.get_by_text(f"{deed} of", exact=True)).to_be_visible()
        new = screen.title.inner_text()
        assert new != euid.format_euid(euid.RUN, failed)
        client.cancel_run(new)
        screen.open(run_page(failed))


def test_what_others_do_to_a_run_shows_at_once(visit, begin, client):
    run = begin()
    screen = visit("user:obi", run_page(run))
    expect(screen.page.locator("[data-step=sign]")).to_have_class("tn-step is-open is-chosen")
    client.approve(run, comment="by somebody else")
    expect(screen.page.locator("[data-step=go]")).to_have_class("tn-step is-active is-chosen")
    expect(screen.page.locator(".tn-timeline")).to_contain_text("by somebody else")


def test_an_observer_decides_nothing(visit, begin):
    screen = visit("user:obi", run_page(begin()))
    for name in ("Approve", "Reject", "Pause", "Signal", "Cancel"):
        expect(screen.button(name)).to_be_disabled()
    screen.open("/ui/workbench/approvals")
    expect(screen.page.locator("tbody tr").first).to_be_visible()
    expect(screen.page.locator("tbody button:enabled")).to_have_count(0)


def test_a_workflow_shows_its_versions_and_what_its_steps_are_told(visit, lab):
    screen = visit("user:obi", "/ui/workflows")
    screen.row("report").get_by_role("link", name="report", exact=True).click()
    expect(screen.page.locator(".tn-marks").first).to_contain_text("version 2")
    screen.page.locator("[data-step=release]").click()
    expect(screen.page.locator(".tn-detail")).to_contain_text("approval")
    screen.page.get_by_role("link", name="version 1").click()
    expect(screen.page.locator(".tn-marks").first).to_contain_text("version 1")
    screen.open("/ui/workflows/no-such")
    expect(screen.page.locator("#tn-main")).to_contain_text("There is no workflow 'no-such'.")


def test_a_schedule_rests_and_goes_on(visit, client, lab, facts):
    uid = next(row.uid for row in client.schedules() if row.name == "nightly")
    screen = visit("user:omar", "/ui/schedules")
    screen.button("Pause nightly").click()
    screen.send("Pause", reason="no controls left")
    expect(screen.row("nightly")).to_contain_text("paused")
    screen.button("Resume nightly").click()
    screen.send("Resume", reason="new controls")
    expect(screen.row("nightly")).to_contain_text("enabled")
    assert [(actor, (data or {}).get("reason")) for _, actor, data in facts(uid)][-2:] == [
        ("user:omar", "no controls left"), ("user:omar", "new controls"),
    ]  # fmt: skip


def test_a_key_with_markup_is_text(visit, lab):
    screen = visit("user:obi", run_page(lab.runs[MARKUP]))
    expect(screen.page.locator("#tn-main")).to_contain_text("<img src=x")
    screen.open("/ui/runs")
    expect(screen.row("<img src=x")).to_be_visible()
    assert screen.page.locator("#tn-main img").count() == 0
    assert screen.page.evaluate("window.hurt") is None
    screen.open(subject_page(lab.subjects["blood 05"]))
    expect(screen.page.get_by_role("link", name="of run")).to_have_count(0)
