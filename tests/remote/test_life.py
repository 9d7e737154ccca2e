"""A submission's whole life over HTTP, as product and node see it (S5; design 04)."""

from __future__ import annotations

from tests.remote.border import RESULT, Border


def test_a_submission_is_handed_out_accepted_run_and_done(border: Border) -> None:
    accepted = border.submit()
    work = border.poll()["work"]
    assert [w["submission_id"] for w in work] == [accepted["submission_id"]]
    assert work[0]["placement"] == {"partition": "cpu", "account": "lab", "qos": None}
    answer = border.tell(work[0], "accepted")
    assert answer["outcome"] == "applied"
    assert border.state(accepted["submission_id"]) == "WAITING_EXTERNAL"
    border.tell(work[0], "running", scheduler_ref={"slurm_job_id": "4711", "partition": "cpu"})
    assert border.state(accepted["submission_id"]) == "RUNNING"
    border.tell(work[0], "completed")
    shown = border.shown(accepted["submission_id"])
    assert shown["projection_state"] == "succeeded"
    assert shown["result_ref"] == RESULT
    assert shown["executions"][0]["scheduler_ref"]["slurm_job_id"] == "4711"
    assert border.state(accepted["submission_id"]) == "COMPLETED"
    assert border.projections(accepted["submission_id"]) == [
        (1, "queued", None), (1, "queued", "accepted"), (1, "running", "running"), (1, "succeeded", "completed"),
    ]  # fmt: skip
