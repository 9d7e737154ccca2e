"""Submissions over the real API, by the real agent, to CalcJobs of AiiDA on a real Slurm: what becomes of each of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tenure.demo.hpc.stage import Node
from tenure.model.states import State
from tests.hpc.house import Submission, bring_up, submit
from tests.hpc.with_aiida.bench import AiidaBench, calcjob_of, one_calcjob_each

HOG = "exec python3 -c 'held = bytearray(400 * 1024 ** 2)'"
#: The first time it is there to be ended; the second time it does its work.
ENDS_ONCE = "echo . >>$HERE/begun; [ $(wc -l <$HERE/begun) -gt 1 ] || exec sleep 300"


@dataclass(frozen=True)
class End:
    """How a submission ended of which nothing was to be tried again."""

    state: State
    code: str | None
    words: str
    aiida: int | None
    """The exit status of the process; None where it was killed."""


ENDS = {
    "good": End(State.COMPLETED, None, "", 0),
    "bad": End(State.FAILED_TERMINAL, "FAILED", "exit code 3", 340),
    "taken back": End(State.CANCELED, "CANCELLED", "canceled", None),
    "removed": End(State.FAILED_TERMINAL, "CANCELLED", "canceled in Slurm", 320),
    "greedy": End(State.FAILED_TERMINAL, "OUT_OF_MEMORY", "more memory_mib", 110),
    "late": End(State.FAILED_TERMINAL, "TIMEOUT", "more walltime_seconds", 120),
    "refused": End(State.FAILED_TERMINAL, "SUBMISSION_REJECTED", "Requested node configuration is not available", 310),
    "requeued": End(State.COMPLETED, None, "", 0),
}
#: What each event becomes in the thread of the subject.
FACTS = {
    "accepted": "execution.dispatched", "running": "execution.started", "completed": "execution.completed",
    "failed": "execution.failed",
}  # fmt: skip


@pytest.fixture(scope="module")
def submissions(node: Node, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Submission]:
    """All of them, begun together. What is to happen to a job happens once it runs."""
    folder, run = tmp_path_factory.mktemp("life"), node.slurm.run
    made = {
        # Slurm looks at time limits twice a minute, and lets what is requeued wait for half a minute.
        "late": submit(node, folder, "exec sleep 300"),
        "requeued": submit(
            node, folder, "echo $SLURM_RESTART_COUNT >>$HERE/begun; [ $SLURM_RESTART_COUNT ] || exec sleep 300"
        ),
        "good": submit(node, folder, 'echo hello; echo 42 >"$TENURE_RESULTS/answer"; sleep 1', cpu=2),
        "bad": submit(node, folder, "echo no luck >&2; exit 3"),
        "taken back": submit(node, folder, "exec sleep 300"),
        "removed": submit(node, folder, "exec sleep 300"),
        "greedy": submit(node, folder, HOG),
        "refused": submit(node, folder, "true", memory_mib=10**7),
        "on a failing node": submit(node, folder, ENDS_ONCE, partition="frail"),
        "cheap": submit(node, folder, ENDS_ONCE, partition="cheap", cpu=40),
    }
    run("scontrol", "update", f"JobId={made['late'].running()}", "EndTime=now")
    run("scontrol", "update", f"JobId={made['requeued'].begun()}", "Requeue=1")
    run("scontrol", "requeue", made["requeued"].running())
    made["taken back"].running()
    node.server.cancel(made["taken back"].id, "the input was wrong")
    run("scancel", made["removed"].running())
    return made


@pytest.mark.parametrize("what", ENDS)
def test_an_end_is_told_as_it_was(node: Node, aiida_bench: AiidaBench, submissions: dict[str, Submission], what: str):
    if what == "greedy" and not node.slurm.limits_memory:
        pytest.skip("no control groups of version 1 can be used here, without which Slurm does not limit memory")
    submission, end = submissions[what], ENDS[what]

    done = end.state is State.COMPLETED
    submission.seen("completed" if done else "failed", seconds=120)
    shown = submission.ended()

    assert shown["projection_state"] == ("succeeded" if done else "failed")
    error = submission.events()[-1].get("error") or {}
    assert (error.get("code"), error.get("retryable", False)) == (end.code, False)
    assert end.words in error.get("message", "")
    found = submission.evidence
    told = [FACTS[state] for state in submission.states()]
    if end.state is State.CANCELED:
        told[-1] = "subject.canceled"  # by the product; that the job has ended changes nothing any more
    assert [fact.type for fact in found.facts] == ["subject.submitted", "lease.claimed", *told]
    assert (found.thread.envelope.state, len(found.attempts)) == (end.state, 1)
    one_calcjob_each(aiida_bench, submission)
    process = calcjob_of(aiida_bench, submission)
    if end.aiida is None and process.state == "finished":
        assert process.exit_status == 320  # its worker did not hear in time, so that its job was cancelled in Slurm
    else:
        assert (process.state, process.exit_status) == ("killed" if end.aiida is None else "finished", end.aiida)


def test_what_a_job_leaves_is_kept(submissions: dict[str, Submission]):
    results = Path(unquote(urlsplit(submissions["good"].ended()["result_ref"]["output_uri"]).path))

    assert (results / "stdout").read_text() == "hello\n"
    assert (results / "results" / "answer").read_text() == "42\n"


def test_a_requeued_job_keeps_its_number_and_does_not_go_back(submissions: dict[str, Submission]):
    submission = submissions["requeued"]

    submission.ended(seconds=120)

    assert (submission.work / "begun").read_text().splitlines() == ["", "1"]
    assert len(submission.executions) == 1


def test_a_node_that_dies_ends_its_job_and_the_next_attempt_is_another_calcjob(
    node: Node, aiida_bench: AiidaBench, submissions: dict[str, Submission]
):
    slurm, submission = node.slurm, submissions["on a failing node"]
    submission.begun()

    slurm.nodes["frail"].kill()
    # What the controller says by itself once it has heard nothing of the node for a minute.
    slurm.run("scontrol", "update", f"NodeName={slurm.site.node('frail')}", "State=DOWN", "Reason=silent")

    failed = submission.seen("failed")
    assert (failed["error"]["code"], failed["error"]["retryable"]) == ("NODE_FAIL", True)
    slurm.start_node("frail")
    bring_up(slurm)
    submission.seen("completed", execution=1)
    assert [submission.states(each)[-1] for each in (0, 1)] == ["failed", "completed"]
    one_calcjob_each(aiida_bench, submission)
    assert [calcjob_of(aiida_bench, submission, each).exit_status for each in (0, 1)] == [140, 0]


def test_a_job_that_is_preempted_is_tried_again_by_another_calcjob(
    node: Node, aiida_bench: AiidaBench, submissions: dict[str, Submission], tmp_path: Path
):
    submission = submissions["cheap"]
    submission.begun()

    urgent = submit(node, tmp_path, "sleep 2", partition="urgent", cpu=60)

    failed = submission.seen("failed")
    assert (failed["error"]["code"], failed["error"]["retryable"]) == ("PREEMPTED", True)
    assert urgent.ended()["projection_state"] == "succeeded"
    submission.seen("completed", execution=1)
    one_calcjob_each(aiida_bench, submission, urgent)
    assert [calcjob_of(aiida_bench, submission, each).exit_status for each in (0, 1)] == [320, 0]


def test_nothing_is_amiss_in_the_record(node: Node, submissions: dict[str, Submission]):
    for submission in submissions.values():
        submission.ended()
        assert submission.refusals == []
    report = node.server.client.verify()
    assert report.clean, report
