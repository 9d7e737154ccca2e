"""The agent is killed, the network is cut, the server is away: one job each, all events, in order."""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tenure.demo.hpc.slurm import SlurmCluster
from tenure.demo.hpc.stage import Node
from tenure.demo.hpc.wire import Condition
from tests.hpc.bench import counted_programs
from tests.hpc.conftest import MakeNode
from tests.hpc.house import one_job_each, state_of, submit, wait_until


class Programs:
    """Slurm's programs with a ``sbatch`` that can be stopped before and after it has submitted."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder, self.calls = folder, folder / "calls"
        real = shutil.which("sbatch")
        counted_programs(folder, self.calls, {"sbatch": (
            f"while [ -e {folder}/before ]; do touch {folder}/waits; sleep 0.05; done\n"
            f"told=$({real} \"$@\") || exit\n"
            f"while [ -e {folder}/after ]; do touch {folder}/waits; sleep 0.05; done\necho \"$told\""
        )})  # fmt: skip

    def hold(self, where: str) -> None:
        """The next ``sbatch`` waits ``before`` or ``after`` it submits."""
        (self.folder / "waits").unlink(missing_ok=True)
        (self.folder / where).touch()

    def release(self) -> None:
        for where in ("before", "after"):
            (self.folder / where).unlink(missing_ok=True)

    def waits(self) -> bool:
        return (self.folder / "waits").exists()

    @property
    def submissions(self) -> int:
        return self.calls.read_text().split().count("sbatch") if self.calls.exists() else 0

    def kill_sbatch(self) -> None:
        """Kill the ``sbatch`` that waits, with what it has started."""
        for process in psutil.process_iter(["cmdline"]):
            if str(self.folder / "sbatch") in (process.info["cmdline"] or ()):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def programs(slurm: SlurmCluster, short_folder: Path) -> Programs:
    return Programs(short_folder / "programs")


@pytest.fixture(scope="module")
def node(make_node: MakeNode, programs: Programs) -> Node:
    return make_node(programs=str(programs.folder))


@pytest.fixture(autouse=True)
def whole(node: Node, programs: Programs) -> Iterator[None]:
    """Whatever a test did is mended for the next."""
    yield
    programs.release()
    node.wire.become(Condition.WHOLE)
    if not node.agent.running():
        node.start_agent()


@pytest.mark.parametrize("where", ["before", "after"])
def test_an_agent_that_is_killed_while_it_submits_leaves_one_job(
    node: Node, programs: Programs, tmp_path: Path, where: str
):
    before = programs.submissions
    programs.hold(where)
    submission = submit(node, tmp_path, "true")
    wait_until("sbatch is under way", programs.waits)
    node.agent.kill()

    # sbatch goes on, and has the lock of the execution, while the next agent begins.
    node.start_agent()
    programs.release()

    assert submission.ended()["projection_state"] == "succeeded"
    assert programs.submissions == before + 1
    one_job_each(submission)


def test_a_job_whose_number_nobody_ever_heard_is_found_by_its_key(node: Node, programs: Programs, tmp_path: Path):
    before = programs.submissions
    programs.hold("after")
    submission = submit(node, tmp_path, "true")
    wait_until("the job is there", programs.waits)
    node.agent.kill()
    programs.kill_sbatch()
    programs.release()

    node.start_agent()

    assert submission.ended()["projection_state"] == "succeeded"
    assert programs.submissions == before + 1
    one_job_each(submission)
    assert "Found again by its key" in submission.events()[0]["status_detail"]


def test_an_sbatch_that_was_killed_before_it_submitted_is_made_up_for(node: Node, programs: Programs, tmp_path: Path):
    before = programs.submissions
    programs.hold("before")
    submission = submit(node, tmp_path, "true")
    wait_until("sbatch is under way", programs.waits)
    node.agent.kill()
    programs.kill_sbatch()
    programs.release()

    node.start_agent()

    assert submission.ended()["projection_state"] == "succeeded"
    assert programs.submissions == before + 2
    one_job_each(submission)


def test_what_is_canceled_while_an_sbatch_outlives_its_agent_leaves_no_job_behind(
    node: Node, programs: Programs, tmp_path: Path
):
    programs.hold("before")
    submission = submit(node, tmp_path, "sleep 600")
    wait_until("sbatch is under way", programs.waits)
    node.agent.kill()
    node.server.cancel(submission.id, "not wanted any more")

    node.start_agent()
    wait_until("the agent waits for it", lambda: "not known yet" in node.agent.tail(), 60, node.agent.tail)
    assert submission.states() == []
    programs.release()

    failed = submission.seen("failed")
    assert failed["error"]["code"] == "CANCELLED", submission.told
    assert state_of(node.slurm, submission.job()) == "CANCELLED"
    one_job_each(submission)


def test_nothing_is_submitted_while_slurm_does_not_answer(node: Node, programs: Programs, tmp_path: Path):
    socket = node.slurm.site.socket
    before = programs.submissions
    socket.rename(socket.with_name("away"))
    try:
        submission = submit(node, tmp_path, "true")
        wait_until("the node tells of it", lambda: "does not answer" in node.agent.tail(), 30, node.agent.tail)
        assert programs.submissions == before
    finally:
        socket.with_name("away").rename(socket)

    assert submission.ended()["projection_state"] == "succeeded"
    one_job_each(submission)


def test_a_job_that_ran_while_the_agent_was_dead_is_told_of_in_full(node: Node, tmp_path: Path):
    submission = submit(node, tmp_path, "while [ ! -e $HERE/go ]; do sleep 0.1; done; exit 3")
    job = submission.running()
    node.agent.kill()
    (submission.work / "go").touch()
    wait_until("the job ends", lambda: state_of(node.slurm, job) == "FAILED")

    node.start_agent()

    assert submission.ended()["failure"]["code"] == "FAILED"
    assert submission.states() == ["accepted", "running", "failed"]
    one_job_each(submission)


def test_what_happened_while_the_network_was_cut_is_told_when_it_is_back(node: Node, tmp_path: Path):
    waiting = submit(node, tmp_path, "while [ ! -e $HERE/go ]; do sleep 0.1; done")
    job = waiting.running()
    node.wire.become(Condition.CUT)
    later = submit(node, tmp_path, "true")
    (waiting.work / "go").touch()
    wait_until("the job ends", lambda: state_of(node.slurm, job) == "COMPLETED")
    assert waiting.states() == ["accepted", "running"]
    assert later.executions == []

    node.wire.become(Condition.WHOLE)

    assert waiting.ended()["projection_state"] == later.ended()["projection_state"] == "succeeded"
    one_job_each(waiting, later)


@pytest.mark.parametrize("condition", [Condition.BUSY, Condition.MUTE])
def test_answers_that_are_refused_or_lost_change_nothing(node: Node, tmp_path: Path, condition: Condition):
    before = [submit(node, tmp_path, "sleep 1") for _ in range(5)]
    for submission in before:
        submission.job()
    node.wire.become(condition)
    asked = node.wire.requests
    time_of_trouble = time.monotonic() + 3
    wait_until("the agent has tried", lambda: node.wire.requests > asked + 3 and time.monotonic() > time_of_trouble, 60)

    node.wire.become(Condition.WHOLE)

    for submission in before:
        assert submission.ended()["projection_state"] == "succeeded"
        assert submission.states() == ["accepted", "running", "completed"]
    one_job_each(*before)


def test_many_submissions_survive_an_agent_that_is_killed_again_and_again(node: Node, tmp_path: Path):
    submissions = [submit(node, tmp_path, "sleep 0.5", memory_mib=16) for _ in range(20)]
    for _ in range(3):
        seen = node.wire.requests
        wait_until("the agent is at work", lambda seen=seen: node.wire.requests > seen + 3, 60, node.agent.tail)
        node.agent.kill()
        node.start_agent()

    for submission in submissions:
        assert submission.ended(seconds=120)["projection_state"] == "succeeded"
    one_job_each(*submissions)


def test_nothing_is_amiss_in_the_record(node: Node):
    report = node.server.client.verify()
    assert report.clean, report
