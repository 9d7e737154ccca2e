"""The agent is killed, the network is cut, answers are refused or lost: one CalcJob and one job each, all events, in order."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tenure.demo.hpc.stage import Node
from tenure.demo.hpc.wire import Condition
from tests.hpc.house import state_of, submit, wait_until
from tests.hpc.with_aiida.bench import DYING_AGENT, AiidaBench, one_calcjob_each

#: As many agents of dying_agent.py have something new to submit: all of them, as AiiDA submits today.
LIVES = 13
UNTIL_GO = "while [ ! -e $HERE/go ]; do sleep 0.1; done"


@pytest.fixture(autouse=True)
def whole(node: Node) -> Iterator[None]:
    """Whatever a test did is mended for the next."""
    yield
    node.wire.become(Condition.WHOLE)
    if not node.agent.running():
        node.start_agent()


def test_what_happened_while_the_network_was_cut_is_told_when_it_is_back(
    node: Node, aiida_bench: AiidaBench, tmp_path: Path
):
    waiting = submit(node, tmp_path, UNTIL_GO)
    job = waiting.running()
    node.wire.become(Condition.CUT)
    later = submit(node, tmp_path, "true")
    (waiting.work / "go").touch()
    wait_until("the job ends", lambda: state_of(node.slurm, job) == "COMPLETED")
    wait_until("the agent knows", lambda: node.look().events.get("waiting", 0) > 0)
    assert waiting.states() == ["accepted", "running"]
    assert later.executions == []

    node.wire.become(Condition.WHOLE)

    assert waiting.ended()["projection_state"] == later.ended()["projection_state"] == "succeeded"
    one_calcjob_each(aiida_bench, waiting, later)


@pytest.mark.parametrize("condition", [Condition.BUSY, Condition.MUTE])
def test_answers_that_are_refused_or_lost_change_nothing(
    node: Node, aiida_bench: AiidaBench, tmp_path: Path, condition: Condition
):
    submissions = [submit(node, tmp_path, UNTIL_GO) for _ in range(2)]
    for submission in submissions:
        submission.running()
    node.wire.become(condition)
    for submission in submissions:
        (submission.work / "go").touch()
    wait_until("the agent has something to tell", lambda: node.look().events.get("waiting", 0) > 0)
    asked = node.wire.requests
    wait_until("the agent has tried again and again", lambda: node.wire.requests > asked + 5)

    node.wire.become(Condition.WHOLE)

    for submission in submissions:
        assert submission.ended()["projection_state"] == "succeeded"
        assert submission.states() == ["accepted", "running", "completed"]
        assert submission.refusals == []
    one_calcjob_each(aiida_bench, *submissions)


def test_an_agent_that_is_killed_before_whatever_a_submission_leaves_behind_leaves_one_job(
    node: Node, aiida_bench: AiidaBench, tmp_path: Path, tell: Callable[[str], None]
):
    node.agent.stop()
    submissions = [submit(node, tmp_path, "true") for _ in range(LIVES)]

    lives = subprocess.run(
        [sys.executable, DYING_AGENT, node.settings], env=os.environ | node.environment, check=True, timeout=300,
        stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    node.start_agent()

    for submission in submissions:
        assert submission.ended()["projection_state"] == "succeeded"
        assert len(submission.executions) == 1
    one_calcjob_each(aiida_bench, *submissions)
    tell(
        f"agent on AiiDA killed at {int(lives)} moments of a submission: {len(submissions)} jobs for as many submissions"
    )


def test_an_agent_that_is_killed_again_and_again_tells_all_of_it_once(
    node: Node, aiida_bench: AiidaBench, tmp_path: Path
):
    submissions = [submit(node, tmp_path, UNTIL_GO) for _ in range(3)]
    submissions[0].seen("accepted")
    node.agent.kill()  # in the midst of the others
    node.start_agent()
    for submission in submissions:
        submission.running()
        (submission.work / "go").touch()
    node.agent.kill()
    node.start_agent()

    for submission in submissions:
        assert submission.ended()["projection_state"] == "succeeded"
        assert submission.refusals == []
    one_calcjob_each(aiida_bench, *submissions)


def test_nothing_is_amiss_in_the_record(node: Node):
    report = node.server.client.verify()
    assert report.clean, report
