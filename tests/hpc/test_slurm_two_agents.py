"""Two agents of one node, each in a folder of its own, started at the same moment: one job each, and one of the two stops."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tenure.demo.hpc.slurm import SlurmCluster
from tenure.demo.hpc.slurm.daemons import Daemon
from tenure.demo.hpc.stage import Manners, Node, Server
from tests.hpc.house import one_job_each, submit, wait_until

_JOBS = 6


@pytest.fixture
def node(server: Server, slurm: SlurmCluster, short_folder: Path) -> Iterator[Node]:
    """A node that was heard of, by an agent of before that named no folder."""
    node = Node(server, slurm, "twice", short_folder / "twice", Manners())
    headers = {"authorization": f"Bearer {server.token_of('agent:twice')}"}
    address = f"http://127.0.0.1:{server.port}/api/v1/remote/nodes/twice/poll"
    httpx.post(address, json={"agent_id": "before"}, headers=headers, timeout=20).raise_for_status()
    yield node
    node.wire.close()


def second_of(node: Node) -> Daemon:
    """Another agent of the node, in a folder of its own."""
    folder = node.folder / "second"
    folder.mkdir()
    text = node.settings.read_text().replace(str(node.folder / "state"), str(folder / "state"))
    (folder / "agent.toml").write_text(text)
    command = [sys.executable, "-m", "tenure.cli", "agent", "slurm", "--config", str(folder / "agent.toml")]
    environment = node.slurm.environment | {"TENURE_TOKEN": node.server.token_of("agent:twice")}
    return Daemon("the second agent", command, folder / "agent.log", environment)


def test_of_two_agents_that_are_started_at_once_one_submits_and_the_other_says_why_it_stops(node: Node, tmp_path: Path):
    submissions = [submit(node, tmp_path, "echo . >>$HERE/starts") for _ in range(_JOBS)]
    second = second_of(node)
    second.start()
    node.start_agent()
    try:
        wait_until("one of the two stops", lambda: not (second.running() and node.agent.running()), 60)
        for submission in submissions:
            assert submission.ended()["projection_state"] == "succeeded"
        stopped, works = (second, node.agent) if node.agent.running() else (node.agent, second)
        assert works.running()
    finally:
        node.agent.stop()
        second.stop()

    assert "has an agent that works in another state folder" in stopped.tail()
    assert [(each.work / "starts").read_text() for each in submissions] == [".\n"] * _JOBS
    one_job_each(*submissions)
