"""Submissions over the real API, by the real agent, to a real Slurm: what becomes of each, and what is told of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tenure.demo.hpc.slurm import SlurmCluster
from tenure.demo.hpc.stage import Node
from tests.hpc.conftest import MakeNode
from tests.hpc.house import Submission, bring_up, jobs_of, one_job_each, state_of, submit, wait_until

HOG = "exec python3 -c 'held = bytearray(400 * 1024 ** 2)'"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("life")


@pytest.fixture(scope="module")
def requeuing(make_node: MakeNode) -> Node:
    """A node whose Slurm may begin jobs anew."""
    return make_node(requeue=True)


@pytest.fixture(scope="module")
def slow(node: Node, requeuing: Node, folder: Path) -> dict[str, Submission]:
    """What takes Slurm half a minute each, begun together: it looks at time limits twice a minute."""
    begun = {
        "time limit": submit(node, folder, "exec sleep 300"),
        "requeue": submit(
            requeuing, folder, "echo $SLURM_RESTART_COUNT >>$HERE/begun; [ $SLURM_RESTART_COUNT ] || sleep 300"
        ),
    }
    node.slurm.run("scontrol", "update", f"JobId={begun['time limit'].running()}", "EndTime=now")
    node.slurm.run("scontrol", "requeue", begun["requeue"].begun())
    return begun


@pytest.fixture(autouse=True)
def nodes_up(slurm: SlurmCluster) -> Iterator[None]:
    yield
    bring_up(slurm)


@pytest.mark.usefixtures("slow")
def test_a_job_that_does_its_work_is_completed_with_its_results(node: Node, tmp_path: Path):
    submission = submit(node, tmp_path, 'echo hello; echo 42 >"$TENURE_RESULTS/answer"; sleep 1', cpu=2)

    shown = submission.ended()

    assert shown["projection_state"] == "succeeded"
    assert submission.states() == ["accepted", "running", "completed"]
    results = Path(unquote(urlsplit(shown["result_ref"]["output_uri"]).path))
    assert (results / "stdout").read_text() == "hello\n"
    assert (results / "results" / "answer").read_text() == "42\n"
    assert submission.executions[0]["scheduler_ref"]["partition"] == "normal"
    one_job_each(submission)


def test_a_job_that_exits_with_3_has_failed_for_good(node: Node, tmp_path: Path):
    submission = submit(node, tmp_path, "echo no luck >&2; exit 3")

    failure = submission.ended()["failure"]

    assert (failure["code"], failure["retryable"]) == ("FAILED", False)
    assert "exit code 3" in failure["message"]
    assert len(submission.executions) == 1
    one_job_each(submission)


def test_a_submission_that_the_product_takes_back_ends_its_job(node: Node, tmp_path: Path):
    submission = submit(node, tmp_path, "exec sleep 300")
    job = submission.running()

    node.server.cancel(submission.id, "the input was wrong")

    wait_until("the job is cancelled", lambda: state_of(node.slurm, job) == "CANCELLED")
    submission.seen("failed")
    assert submission.ended()["failure"]["code"] == "canceled"
    assert submission.events()[-1]["error"]["code"] == "CANCELLED"
    one_job_each(submission)


def test_a_job_that_is_cancelled_in_slurm_has_failed_for_good(node: Node, tmp_path: Path):
    submission = submit(node, tmp_path, "exec sleep 300")

    node.slurm.run("scancel", submission.running())

    failure = submission.ended()["failure"]
    assert (failure["code"], failure["retryable"]) == ("CANCELLED", False)
    one_job_each(submission)


def test_a_job_that_takes_more_memory_than_it_asked_for_needs_more(node: Node, tmp_path: Path):
    if not node.slurm.limits_memory:
        pytest.skip("no control groups of version 1 can be used here, without which Slurm does not limit memory")
    submission = submit(node, tmp_path, HOG, memory_mib=64)

    failure = submission.ended()["failure"]

    assert (failure["code"], failure["retryable"]) == ("OUT_OF_MEMORY", False)
    assert "more memory_mib" in failure["message"]
    one_job_each(submission)


def test_a_submission_that_slurm_refuses_fails_without_a_job(node: Node, tmp_path: Path):
    submission = submit(node, tmp_path, "true", memory_mib=10**7)

    failure = submission.ended()["failure"]

    assert (failure["code"], failure["retryable"]) == ("SUBMISSION_REJECTED", False)
    assert "Requested node configuration is not available" in failure["message"]
    assert submission.states() == ["accepted", "failed"]
    one_job_each(submission)
    assert jobs_of(node.slurm, submission.executions[0]["execution_id"]) == []


def test_a_failing_node_ends_the_job_and_the_next_attempt_is_another_one(node: Node, tmp_path: Path):
    submission = submit(
        node, tmp_path, "echo . >>$HERE/begun; [ $(wc -l <$HERE/begun) -gt 1 ] || sleep 300", partition="frail"
    )
    submission.begun()

    node.slurm.run("scontrol", "update", f"NodeName={node.slurm.site.node('frail')}", "State=DOWN", "Reason=test")

    failed = submission.seen("failed")
    assert (failed["error"]["code"], failed["error"]["retryable"]) == ("NODE_FAIL", True)
    bring_up(node.slurm)
    submission.seen("completed", execution=1)
    assert submission.ended()["projection_state"] == "succeeded"
    assert submission.states(1) == ["accepted", "running", "completed"]
    assert len(set(submission.jobs)) == 2
    one_job_each(submission)


def test_a_job_that_is_preempted_is_tried_again(node: Node, tmp_path: Path):
    submission = submit(
        node, tmp_path, "echo . >>$HERE/begun; [ $(wc -l <$HERE/begun) -gt 1 ] || sleep 300", partition="cheap", cpu=40
    )
    submission.begun()

    urgent = submit(node, tmp_path, "sleep 2", partition="urgent", cpu=60)

    failed = submission.seen("failed")
    assert (failed["error"]["code"], failed["error"]["retryable"]) == ("PREEMPTED", True)
    assert urgent.ended()["projection_state"] == "succeeded"
    submission.seen("completed", execution=1)
    one_job_each(submission, urgent)


def test_a_job_whose_dependency_can_never_be_satisfied_has_failed(node: Node, tmp_path: Path):
    before = submit(node, tmp_path, "exit 1")
    before.ended()
    submission = submit(node, tmp_path, "true", partition="closed")
    job = submission.job()
    # It waits for what will not come by itself: the node calls for somebody.
    wait_until(
        "somebody is called for", lambda: any("PartitionDown" in str(each["problem"]) for each in node.look().troubled)
    )

    node.slurm.run("scontrol", "update", f"JobId={job}", f"Dependency=afterok:{before.job()}")

    failure = submission.ended()["failure"]
    assert (failure["code"], failure["retryable"]) == ("DependencyNeverSatisfied", False)
    assert submission.states() == ["accepted", "failed"]
    wait_until("the job is gone from the queue", lambda: state_of(node.slurm, job) == "CANCELLED")
    one_job_each(submission, before)


def test_a_requeued_job_keeps_its_number_and_does_not_go_back(slow: dict[str, Submission]):
    submission = slow["requeue"]

    shown = submission.ended(seconds=100)

    assert shown["projection_state"] == "succeeded"
    assert submission.states() == ["accepted", "running", "completed"]
    assert (submission.work / "begun").read_text().splitlines() == ["", "1"]
    assert len(submission.executions) == 1
    one_job_each(submission)


def test_a_job_that_takes_longer_than_it_asked_for_needs_more_time(slow: dict[str, Submission]):
    failure = slow["time limit"].ended()["failure"]

    assert (failure["code"], failure["retryable"]) == ("TIMEOUT", False)
    assert "more walltime_seconds" in failure["message"]
    one_job_each(slow["time limit"])


def test_nothing_is_amiss_in_the_record(node: Node, slow: dict[str, Submission]):
    for submission in slow.values():
        submission.ended()
    report = node.server.client.verify()
    assert report.clean, report
