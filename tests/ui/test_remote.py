"""Submissions and management nodes on their screens: found, read, taken back; each deed is a fact in a person's name."""

from __future__ import annotations

from playwright.sync_api import expect

from tenure.sdk.references import uid_of
from tests.ui.clusters import NODE, submission_page, submit, taken, tell, uid_of_submission
from tests.ui.laboratory import MARKUP


def test_submissions_are_narrowed_and_turned_page_by_page(visit, client, lab, monkeypatch):
    monkeypatch.setattr("tenure.ui.screens.submissions.PAGE", 3)
    for number in range(4):
        submit(client, lab, f"many-{number}", "ws-many")
    screen = visit("user:obi", "/ui/")
    screen.go("s", "Submissions")
    rows = screen.page.locator("tbody tr")
    screen.page.get_by_label("Workspace").fill("ws-many")
    screen.page.keyboard.press("Enter")
    expect(rows.first).to_contain_text("many-3")
    expect(rows).to_have_count(3)
    screen.button("Next").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("many-0")
    screen.button("Clear").click()
    screen.page.get_by_label("State").select_option("failed")
    expect(screen.row("align-8")).to_contain_text("OUT_OF_MEMORY")
    expect(screen.row("many-")).to_have_count(0)
    screen.page.get_by_label("Node", exact=True).select_option("cluster-2")
    expect(screen.page.locator(".tn-empty")).to_contain_text("No submission fits")
    screen.button("Clear").click()
    screen.page.get_by_label("Job", exact=True).fill("call-8")
    screen.page.keyboard.press("Enter")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("4713")


def test_a_part_of_the_list_in_which_nothing_fits_says_that_there_is_more(get, lab, monkeypatch):
    monkeypatch.setattr("tenure.remote.postgres.SCAN", 3)
    monkeypatch.setattr("tenure.ui.screens.submissions.PAGE", 2)
    assert "None among those looked at" in get("/ui/submissions?workspace=ws-none").text


def test_a_submission_tells_how_it_went_and_why_it_stands(get, lab):
    running = get(submission_page(lab.submissions["call-8"])).text
    for told in ("Slurm job 4713", "runs_at_node", "node-17", "invalid_transition", "4bf92f3577b34da6a3ce929d0e0e4736",
                 "s3://lab/in/2.sh", "partition cpu"):  # fmt: skip
        assert told in running, told
    failed = get(submission_page(lab.submissions["align-8"])).text
    assert "It was killed at 500 MiB: ask for more." in failed
    assert failed.count("s3://lab/out/align-8/") > 2, "what the product was told, and what the execution left"
    assert "s3://lab/out/align-7/" in get(submission_page(lab.submissions["align-7"])).text


def test_a_submission_and_its_subject_lead_to_each_other_and_markup_is_text(visit, lab):
    name = lab.submissions[MARKUP]
    screen = visit("user:obi", f"/ui/search?q={name}")
    expect(screen.title).to_have_text(name)
    expect(screen.page.locator("#tn-main")).to_contain_text("<img src=x")
    expect(screen.button("Cancel")).to_have_attribute(
        "title", "Needs one of the roles worker_service, operator, admin."
    )
    screen.page.locator(".tn-properties").get_by_role("link", name="SX-").click()
    screen.page.get_by_role("link", name=f"submission {name}").click()
    expect(screen.title).to_have_text(name)
    assert screen.page.locator("#tn-main img").count() == 0
    assert screen.page.evaluate("window.hurt") is None


def test_an_operator_takes_a_submission_back(visit, client, lab, facts):
    name = submit(client, lab, "not-wanted")
    screen = visit("user:omar", submission_page(name))
    screen.button("Cancel").click()
    screen.send("Cancel for good", reason="the reference was wrong")
    expect(screen.notice).to_contain_text(f"{name} is canceled.")
    expect(screen.page.locator(".tn-marks").first).to_contain_text("failed")
    expect(screen.page.locator(".tn-timeline")).to_contain_text("Canceled: the reference was wrong")
    expect(screen.button("Run again")).to_have_attribute("title", "Needs one of the roles admin.")
    type_, actor, data = facts(uid_of_submission(name))[-1]
    assert (type_, actor, data["failure"]["code"]) == ("projection.updated", "user:omar", "canceled")
    of_subject = facts(uid_of(client.submission(name).subject))
    assert [(actor, data["reason"]) for type_, actor, data in of_subject if type_ == "subject.canceled"] == [
        ("user:omar", "the reference was wrong")
    ]


def test_what_a_node_reports_shows_at_once(visit, client, lab):
    name = submit(client, lab, "watched")
    screen = visit("user:obi", submission_page(name))
    expect(screen.page.locator(".tn-empty")).to_contain_text("No execution yet")
    tell(client, taken(client)["watched"], "accepted", scheduler_ref={"slurm_job_id": "815"})
    expect(screen.page.get_by_role("table", name="Executions")).to_contain_text("815")


def test_nodes_are_for_whoever_reads_and_subscriptions_for_operators(get, lab):
    listed, node = get("/ui/nodes").text, get(f"/ui/nodes/{NODE}").text
    for told in ("cluster-2", "silent", "slurm 22.05.8"):
        assert told in listed, told
    for told in ("agent:cluster-1", "node.defined", "or grant"):
        assert told in node, told
    assert "Management nodes" in get("/ui/submissions", "user:obi").text
    assert "agent:cluster-1" in get(f"/ui/nodes/{NODE}", "user:obi").text
    for path in ("/ui/subscriptions", "/ui/subscriptions/shop"):
        assert "This needs the permission to" not in get(path, "user:omar").text
        assert "This needs the permission to operate." in get(path, "user:obi").text
