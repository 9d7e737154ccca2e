"""Why isn't this submission moving? (design 01, Reading; decision 13)"""

from __future__ import annotations

from typing import Any

import pytest

from tenure.testing.clock import MovableClock
from tests.remote.border import Border, R


def reasons(border: Border, submission_id: str) -> dict[str, Any]:
    subject = border.shown(submission_id)["subject"]
    return {reason["code"]: reason for reason in border.reader.get(f"/subjects/{subject}/why")["reasons"]}


def test_a_silent_node_is_named_with_since_when_and_what_to_do(border: Border, clock: MovableClock) -> None:
    submission = border.submit()["submission_id"]
    assert "node_silent" not in reasons(border, submission)
    clock.advance(seconds=121)
    reason = reasons(border, submission)["node_silent"]
    assert reason["blocking"] is True
    assert reason["evidence"]["node"] == border.node
    assert reason["evidence"]["polled_at"] in reason["message"]
    assert "agent" in reason["remedy"]


def test_a_scheduler_that_does_not_answer_is_told_of(border: Border) -> None:
    submission = border.submit()["submission_id"]
    border.poll(accepting=0, scheduler="slurm 22.05", scheduler_problem="slurmctld does not answer")
    reason = reasons(border, submission)["scheduler_problem"]
    assert "slurmctld does not answer" in reason["message"]
    assert reason["evidence"]["scheduler"] == "slurm 22.05"


STUCK = "Execution 1 of submission JX-1: Slurm job 7 waits and will not start by itself: PartitionConfig."


@pytest.mark.parametrize(
    "said", [{"job_problem": STUCK}, {"scheduler_problem": STUCK}], ids=["its own field", "an agent of before"]
)
def test_a_job_that_needs_somebody_stands_in_nobodys_way(border: Border, said: dict[str, str]) -> None:
    """The node goes on submitting: no sentence says otherwise, and who waits for the node hears nothing of the job."""
    there = border.handed_out()
    border.tell(there, "accepted", scheduler_ref={"slurm_job_id": "7"})
    waits = border.submit()["submission_id"]
    border.poll(accepting=1, holding=[there["execution_id"]], **said)

    told = reasons(border, there["submission_id"])
    assert told["job_needs_somebody"]["blocking"] is False
    assert STUCK in told["job_needs_somebody"]["message"]
    assert "scheduler_problem" not in told
    assert not {"scheduler_problem", "job_needs_somebody"} & reasons(border, waits).keys()
    node = border.site.admin.get(f"{R}/nodes/{border.node}")
    assert (node["scheduler_problem"], node["problem_since"], node["job_problem"]) == (None, None, STUCK)

    border.poll(accepting=0, scheduler_problem="The scheduler does not answer: no route", job_problem=STUCK)
    assert reasons(border, waits)["scheduler_problem"]["blocking"] is True, "that is in everybody's way"
    assert border.site.admin.get(f"{R}/nodes/{border.node}")["job_problem"] == STUCK
    border.poll(accepting=1)
    assert border.site.admin.get(f"{R}/nodes/{border.node}")["job_problem"] is None


def test_how_the_execution_stands_is_told_in_the_schedulers_words(border: Border) -> None:
    work = border.handed_out()
    submission = work["submission_id"]
    assert reasons(border, submission)["handed_out"]["blocking"] is False
    border.tell(work, "accepted", scheduler_ref={"slurm_job_id": "7"}, status_detail="Priority")
    told = reasons(border, submission)["waits_for_scheduler"]
    assert told["message"] == "Execution 1 waits at cluster-1 as Slurm job 7: Priority"
    border.tell(work, "running")
    assert reasons(border, submission)["runs_at_node"]["evidence"]["slurm_job_id"] == "7"
    border.tell(work, "completed")
    assert "runs_at_node" not in reasons(border, submission)


def test_a_node_serves_its_own_queue_and_no_other(border: Border) -> None:
    border.poll()
    trusted = border.site.trusted
    trusted.define_queue("q")
    codes = [reason.code for reason in trusted.why(trusted.submit(queue_key="q").subject)]
    assert codes == ["in_queue", "no_worker_online"]
    submission = border.submit()["submission_id"]
    assert "claimable_by" in reasons(border, submission)


def test_a_draining_node_is_told_of(border: Border) -> None:
    submission = border.submit()["submission_id"]
    border.poll(draining=True)
    assert "node_draining" in reasons(border, submission)
