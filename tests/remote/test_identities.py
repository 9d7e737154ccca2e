"""The ids on an event: which submission, which execution, which Slurm job; and what does not fit (S5; decision 13)."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.remote.border import Border, R

SEVEN = {"trace_id", "tenant_id", "job_id", "submission_id", "execution_id", "event_id", "state"}


def refused(border: Border, event: dict[str, Any]) -> tuple[int, str]:
    answer = border.report(event)
    return answer.status_code, answer.json()["code"]


@pytest.mark.parametrize("submission_id", ["JX-YGJ24", "SX-YGJ24", "nothing", "JX-0"])
def test_an_unknown_submission(border: Border, submission_id: str) -> None:
    work = border.handed_out()
    assert refused(border, border.event(work, "accepted", submission_id=submission_id)) == (404, "submission_not_found")


@pytest.mark.parametrize("field", ["workspace_id", "job_id"])
def test_another_job_or_workspace_than_the_submissions(border: Border, field: str) -> None:
    work = border.handed_out()
    assert refused(border, border.event(work, "accepted", **{field: "another"})) == (409, "invalid_transition")
    assert border.types(work["submission_id"]) == ["submission.accepted", "projection.updated"]


def test_an_emitter_may_bind_an_id_of_its_own_with_the_first_event(border: Border) -> None:
    work = border.handed_out()
    own = "aiida:4711"
    assert refused(border, border.event(work, "running", execution_id=own)) == (409, "invalid_transition")
    border.tell(work, "accepted", execution_id=own)
    assert refused(border, border.event(work, "running")) == (409, "invalid_transition")
    assert refused(border, border.event(work, "running", execution_id="aiida:4712")) == (409, "invalid_transition")
    border.tell(work, "running", "completed", execution_id=own)
    shown = border.shown(work["submission_id"])
    assert [e["execution_id"] for e in shown["executions"]] == [own]
    assert border.poll()["work"] == []


def test_nothing_is_accepted_that_was_not_handed_out(border: Border) -> None:
    accepted = border.submit()
    work = {**accepted, "tenant_id": border.tenant_id, "workspace_id": "ws-1", "execution_id": "own"}
    assert refused(border, border.event(work, "accepted")) == (409, "invalid_transition")


def test_the_slurm_job_id_never_changes(border: Border) -> None:
    work = border.handed_out()
    border.tell(work, "accepted")
    border.tell(work, "running", scheduler_ref={"slurm_job_id": "1", "partition": "cpu"})
    other = border.event(work, "completed", scheduler_ref={"slurm_job_id": "2"})
    assert refused(border, other) == (409, "invalid_transition")
    border.tell(work, "completed", scheduler_ref={"partition": "cpu-2"})
    ref = border.shown(work["submission_id"])["executions"][0]["scheduler_ref"]
    assert ref == {"slurm_job_id": "1", "partition": "cpu-2", "qos": None}


def test_a_refused_event_may_come_again_when_its_turn_has_come(border: Border) -> None:
    work = border.handed_out()
    early = border.event(work, "running")
    assert refused(border, early) == (409, "invalid_transition")
    border.tell(work, "accepted")
    assert border.report(early).json()["outcome"] == "applied"
    assert border.report(early).json()["outcome"] == "duplicate"


def test_an_event_that_comes_again_is_answered_alike_however_things_stand(border: Border) -> None:
    work = border.handed_out()
    first = border.event(work, "accepted")
    border.report(first)
    border.tell(work, "running", "completed")
    before = border.fact_count(work["submission_id"])
    answers = [border.report(first) for _ in range(3)]
    assert {a.status_code for a in answers} == {200}
    assert len({a.content for a in answers}) == 1
    assert answers[0].json()["state"] == "completed"
    assert border.fact_count(work["submission_id"]) == before
    assert border.history(work["submission_id"])["refusals"] == []


def test_a_batch_answers_each_in_order_and_one_refusal_leaves_the_others_alone(border: Border) -> None:
    work = border.handed_out()
    accepted = border.event(work, "accepted")
    events = [
        accepted, border.event(work, "completed"), {"event_id": "broken"}, border.event(work, "running"), accepted,
        "no event", border.event(work, "running", tenant_id="another"), border.event(work, "completed"),
    ]  # fmt: skip
    answer = border.emitter.request("POST", f"{R}/events/batch", json={"events": events})
    results = answer.json()["results"]
    said = [(r["status"], r["code"] or r["received"]["outcome"]) for r in results]
    assert said == [
        (200, "applied"), (409, "invalid_transition"), (400, "invalid_event"), (200, "applied"), (200, "duplicate"),
        (400, "invalid_event"), (403, "forbidden"), (200, "applied"),
    ]  # fmt: skip
    assert [r["event_id"] for r in results][2:4] == ["broken", events[3]["event_id"]]  # type: ignore[index]
    assert border.state(work["submission_id"]) == "COMPLETED"
    assert [p[1:] for p in border.projections(work["submission_id"])] == [
        ("queued", None), ("queued", "accepted"), ("running", "running"), ("succeeded", "completed"),
    ]  # fmt: skip


def test_a_batch_holds_five_hundred_at_most(border: Border) -> None:
    work = border.handed_out()
    events = [border.event(work, "accepted")] * 501
    answer = border.emitter.request("POST", f"{R}/events/batch", json={"events": events})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")


def test_the_seven_fields_are_on_every_line_of_an_event(border: Border, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="tenure.remote")
    work = border.handed_out()
    sent = [
        border.event(work, "accepted"), border.event(work, "completed"), border.event(work, "running", tenant_id="another"),
        border.event(work, "running", submission_id="JX-YGJ24"), border.event(work, "failed", error=None),
    ]  # fmt: skip
    for event in sent:
        border.report(event)
    border.report(sent[0])
    lines = [json.loads(record.message) for record in caplog.records if record.name == "tenure.remote"]
    events = [line for line in lines if line["event"] == "execution_event"]
    assert [line["outcome"] for line in events] == ["applied", "refused", "refused", "refused", "refused", "duplicate"]
    assert [line["code"] for line in events][1:5] == [
        "invalid_transition", "forbidden", "submission_not_found", "invalid_event",
    ]  # fmt: skip
    for line, event in zip(events, [*sent, sent[0]], strict=True):
        assert {name: line[name] for name in SEVEN} == {name: event[name] for name in SEVEN}


def test_an_event_id_that_comes_with_another_content_is_a_replay_and_is_kept_as_reused(border: Border) -> None:
    work = border.handed_out()
    first = border.event(work, "accepted")
    border.report(first)
    answer = border.report({**first, "state": "running"})
    assert (answer.status_code, answer.json()["outcome"], answer.json()["state"]) == (200, "duplicate", "accepted")
    assert [r["code"] for r in border.history(work["submission_id"])["refusals"]] == ["event_id_reused"]


def test_events_that_come_at_once_are_written_together_and_answered_each_for_itself(border: Border) -> None:
    for _ in range(12):
        border.submit()
    works = border.poll(accepting=12)["work"]
    events = [border.event(work, "accepted") for work in works]
    events += [border.event(works[0], "completed"), border.event(works[1], "running", tenant_id="another"), events[2]]

    with ThreadPoolExecutor(15) as threads:
        answers = list(threads.map(lambda event: httpx.post(
            f"{border.site.server.url}/api/v1/remote/events", json=event, timeout=30,
            headers={"Authorization": f"Bearer {border.emitter.secret}"},
        ), events))  # fmt: skip

    said = [(a.status_code, a.json().get("outcome") or a.json()["code"]) for a in answers]
    assert said[12:14] == [(409, "invalid_transition"), (403, "forbidden")]
    assert sorted(said[n] for n in (2, 14)) == [(200, "applied"), (200, "duplicate")]
    assert {said[n] for n in range(12) if n != 2} == {(200, "applied")}
    assert {border.state(work["submission_id"]) for work in works} == {"WAITING_EXTERNAL"}
