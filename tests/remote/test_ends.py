"""How submissions end, and how they go on: retries, dead letters, cancellations, holds, requeues (decision 13)."""

from __future__ import annotations

from typing import Any

import pytest

from tenure.testing.clock import MovableClock
from tests.remote.border import ERROR, RESULT, Border

RETRYABLE = ERROR | {"code": "NODE_FAIL", "retryable": True}
POINTS: list[tuple[str, ...]] = [(), ("accepted",), ("accepted", "running")]


def named(points: tuple[str, ...]) -> str:
    return points[-1] if points else "handed out"


@pytest.mark.parametrize("states", [("accepted",), ("accepted", "running")], ids=named)
def test_a_failure_that_is_not_retryable_is_a_dead_letter(border: Border, states: tuple[str, ...]) -> None:
    work = border.handed_out()
    border.tell(work, *states, "failed")
    shown = border.shown(work["submission_id"])
    assert (shown["projection_state"], shown["failure"]) == ("failed", ERROR)
    assert border.state(work["submission_id"]) == "FAILED_TERMINAL"
    letters = border.site.trusted.dead_letters()
    assert [(row.letter.error_class, row.error_code, row.error_message) for row in letters] == [
        ("PERMANENT_INPUT", "EXIT_3", "It ended with 3.")
    ]


def test_a_retryable_failure_is_tried_again_and_the_projection_does_not_go_back(
    border: Border, clock: MovableClock
) -> None:
    work = border.handed_out()
    submission = work["submission_id"]
    border.tell(work, "accepted", "running")
    border.tell(work, "failed", error=RETRYABLE)
    assert border.state(submission) == "FAILED_RETRYABLE"
    assert border.shown(submission)["projection_state"] == "running"
    assert border.poll()["work"] == []
    clock.advance(seconds=31)
    (again,) = border.poll()["work"]
    assert (again["attempt"], again["submission_id"]) == (2, submission)
    assert again["execution_id"] != work["execution_id"]

    late = border.report(border.event(work, "completed"))
    assert (late.status_code, late.json()["code"]) == (409, "invalid_transition")
    border.tell(again, "accepted", "running", "completed")

    assert border.projections(submission) == [
        (1, "queued", None), (1, "queued", "accepted"), (1, "running", "running"), (1, "succeeded", "completed"),
    ]  # fmt: skip
    assert [e["state"] for e in border.shown(submission)["executions"]] == ["failed", "completed"]


def test_when_no_attempt_is_left_it_has_failed(border: Border, clock: MovableClock) -> None:
    work = border.handed_out()
    for _ in range(2):
        border.tell(work, "accepted", "running")
        border.tell(work, "failed", error=RETRYABLE)
        clock.advance(seconds=31)
        work = next(iter(border.poll()["work"]), work)
    shown = border.shown(work["submission_id"])
    assert (shown["projection_state"], shown["failure"]) == ("failed", RETRYABLE)
    assert border.state(work["submission_id"]) == "FAILED_TERMINAL"


def output(name: str) -> dict[str, str]:
    return {"output_uri": f"s3://lab/out/{name}/"}


def test_where_a_failed_execution_left_its_output_is_told_and_shown(border: Border, clock: MovableClock) -> None:
    """Of each execution, whether it is tried again or not; its `stderr` lies there."""
    work = border.handed_out()
    submission = work["submission_id"]
    border.tell(work, "accepted", "running")
    border.tell(work, "failed", error=RETRYABLE, result_ref=output("first"))
    shown = border.shown(submission)
    assert (shown["result_ref"], shown["executions"][0]["result_ref"]) == (None, output("first"))
    clock.advance(seconds=31)
    (again,) = border.poll()["work"]
    border.tell(again, "accepted", "running")
    border.tell(again, "failed", result_ref=output("second") | {"metadata_uri": "s3://lab/out/second/metadata.json"})

    shown = border.shown(submission)
    second = output("second") | {"metadata_uri": "s3://lab/out/second/metadata.json"}
    assert [e["result_ref"] for e in shown["executions"]] == [output("first"), second]
    assert (shown["failure"], shown["result_ref"]) == (ERROR, second)
    told = [e["data"] for e in border.history(submission)["entries"] if e["type"] == "projection.updated"]
    assert [update.get("result_ref") for update in told] == [None, None, None, second]

    border.site.trusted.requeue(shown["subject"], reopen=True, reason="the input was mended")
    assert border.shown(submission)["result_ref"] is None, "a new round has none yet"
    assert border.site.trusted.verify().found == {}


def test_what_an_execution_left_is_shown_where_its_submission_had_gone_on_without_it(border: Border) -> None:
    work = border.handed_out()
    border.tell(work, "accepted", "running")
    border.cancel(work["submission_id"])
    assert border.tell(work, "failed", result_ref=RESULT)["outcome"] == "kept"
    shown = border.shown(work["submission_id"])
    assert (shown["result_ref"], shown["executions"][0]["result_ref"]) == (None, RESULT)


def test_requeueing_a_dead_letter_begins_a_new_round(border: Border) -> None:
    work = border.handed_out()
    submission = work["submission_id"]
    border.tell(work, "accepted", "running", "failed")
    border.site.trusted.requeue(border.shown(submission)["subject"], reopen=True, reason="the input was mended")
    assert border.shown(submission)["projection_state"] == "queued"
    (again,) = border.poll()["work"]
    assert (again["attempt"], again["execution_id"] == work["execution_id"]) == (2, False)
    border.tell(again, "accepted", "running", "completed")
    assert border.projections(submission) == [
        (1, "queued", None), (1, "queued", "accepted"), (1, "running", "running"), (1, "failed", "failed"),
        (2, "queued", None), (2, "queued", "accepted"), (2, "running", "running"), (2, "succeeded", "completed"),
    ]  # fmt: skip
    ids = [
        e["data"]["projection_event_id"]
        for e in border.history(submission)["entries"]
        if e["type"] == "projection.updated"
    ]
    assert len(set(ids)) == len(ids)


def test_cancelled_before_anybody_has_it_the_node_never_hears_of_it(border: Border) -> None:
    accepted = border.submit()
    shown = border.cancel(accepted["submission_id"], reason="not needed").json()
    assert (shown["projection_state"], shown["failure"]) == (
        "failed", {"code": "canceled", "message": "not needed", "retryable": False},
    )  # fmt: skip
    assert border.poll() == border.poll()
    assert (border.poll()["work"], border.poll()["cancel"]) == ([], [])


@pytest.mark.parametrize("states", POINTS, ids=named)
def test_cancelled_the_node_is_told_until_it_knows_and_late_events_are_kept(
    border: Border, states: tuple[str, ...]
) -> None:
    work = border.handed_out()
    submission, execution = work["submission_id"], work["execution_id"]
    border.tell(work, *states)
    assert border.cancel(submission, reason="why not").json()["projection_state"] == "failed"
    told = [border.poll(holding=[execution])["cancel"] for _ in range(2)]
    assert told == [[execution]] * 2
    assert border.poll(holding=[execution], canceling=[execution])["cancel"] == []

    # The events that were on their way move the execution, and not the subject.
    rest = ("accepted", "running", "failed")[len(states) :]
    for state in rest:
        assert border.tell(work, state)["outcome"] == "kept"

    assert border.state(submission) == "CANCELED"
    assert border.poll(holding=[execution])["cancel"] == []
    shown = border.shown(submission)
    assert (shown["projection_state"], shown["failure"]["code"]) == ("failed", "canceled")
    assert shown["executions"][0]["state"] == "failed"
    assert border.projections(submission)[-1] == (1, "failed", None)
    again = border.cancel(submission)
    assert (again.status_code, again.json()["code"]) == (409, "invalid_transition")


def test_handed_out_and_cancelled_before_the_node_wrote_it_down(border: Border) -> None:
    work = border.handed_out()
    border.cancel(work["submission_id"])
    assert border.poll(holding=[])["cancel"] == []
    # It had got the work after all, and says so: then it is told.
    assert border.tell(work, "accepted")["outcome"] == "kept"
    assert border.poll(holding=[work["execution_id"]])["cancel"] == [work["execution_id"]]


@pytest.mark.parametrize("states", POINTS, ids=named)
def test_a_hold_ends_the_execution_and_its_release_begins_another(border: Border, states: tuple[str, ...]) -> None:
    work = border.handed_out()
    submission, execution = work["submission_id"], work["execution_id"]
    border.tell(work, *states)
    subject = border.shown(submission)["subject"]
    border.site.trusted.hold(subject, reason="look at the input")
    orders = border.poll(holding=[execution])
    assert (orders["cancel"], orders["work"]) == ([execution], [])
    border.tell(work, *("accepted", "failed")[min(len(states), 1) :])
    border.site.trusted.release_hold(subject)
    (again,) = border.poll()["work"]
    assert again["attempt"] == 2
    border.tell(again, "accepted", "running", "completed")
    assert border.shown(submission)["projection_state"] == "succeeded"


def test_requeued_by_an_operator_while_it_runs_the_former_execution_is_ended(border: Border) -> None:
    work = border.handed_out()
    border.tell(work, "accepted", "running")
    border.site.trusted.requeue(border.shown(work["submission_id"])["subject"], reason="the node is lost")
    orders = border.poll(holding=[work["execution_id"]])
    assert orders["cancel"] == [work["execution_id"]]
    (again,) = orders["work"]
    assert again["attempt"] == 2
    assert border.tell(work, "completed")["outcome"] == "kept"
    assert border.tell(again, "accepted", "running", "completed")["outcome"] == "applied"
    assert [p[1] for p in border.projections(work["submission_id"])] == ["queued", "queued", "running", "succeeded"]


def test_a_restart_in_slurm_never_takes_running_back(border: Border) -> None:
    work = border.handed_out()
    ref: dict[str, Any] = {"scheduler_ref": {"slurm_job_id": "7"}}
    border.tell(work, "accepted", "running", **ref)
    for state in ("accepted", "running"):
        answer = border.report(border.event(work, state, **ref))
        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_transition")
    assert border.shown(work["submission_id"])["projection_state"] == "running"
    assert border.tell(work, "completed", **ref)["outcome"] == "applied"


def test_verify_finds_nothing_after_any_of_these(border: Border) -> None:
    for states in POINTS:
        work = border.handed_out()
        border.tell(work, *states)
        border.cancel(work["submission_id"])
    done = border.handed_out()
    border.tell(done, "accepted", "running", "completed")
    report = border.site.trusted.verify()
    assert (report.found, report.submissions) == ({}, 4)
