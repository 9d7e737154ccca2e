"""``tenure agent aiida`` as a process, against a server that keeps the contract: every execution's events, in their order."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tenure.remote.model.contracts import Placement
from tests.agent.border import TOKEN, Border, complete_and_in_order
from tests.hpc.with_aiida.bench import Site, until
from tests.hpc.with_aiida.profile import PROFILE

_numbers = itertools.count(1)


class Node:
    """A management node: its settings, its inputs, and its agent's process."""

    def __init__(self, site: Site, border: Border, folder: Path) -> None:
        self.site, self.border, self.folder = site, border, folder
        token = folder / "token"
        token.write_text(TOKEN)
        token.chmod(0o600)
        self.config = folder / "agent.toml"
        self.config.write_text(f"""
node = "node-1"
kind = "aiida"
url = "{border.url}"
token_file = "{token}"
state_folder = "{folder / "state"}"
poll_seconds = 2

[watch]
fastest_seconds = 0.5
slowest_seconds = 1

[delivery]
first_delay_seconds = 0.1
slowest_seconds = 1

[aiida]
computer = "cluster"
profile = "{PROFILE}"
config_folder = "{site.folder / "aiida"}"
again_seconds = 3
""")
        self.agent: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.agent = subprocess.Popen(
            [sys.executable, "-c", "from tenure.cli import main; main()", "agent", "aiida", "--config", self.config],
            stdout=(self.folder / "log").open("ab"), stderr=subprocess.STDOUT,
        )  # fmt: skip

    def stop(self, how: int = signal.SIGTERM) -> None:
        assert self.agent is not None
        os.kill(self.agent.pid, how)
        try:
            self.agent.wait(60)
        finally:
            self.agent.kill()

    def submit(self, lines: str, partition: str | None = None, **shape: int) -> str:
        """A submission of these lines of shell; its execution id."""
        script = self.folder / f"input{next(_numbers)}"
        script.write_text(f"#!/bin/sh\n{lines}\n")
        if partition is None:
            return self.border.submit(script.as_uri(), memory_mib=shape.pop("memory_mib", 64), **shape)
        return self.add_to(partition, script)

    def add_to(self, partition: str, script: Path) -> str:
        execution = self.border.submit(script.as_uri(), memory_mib=64)
        work = self.border.work.pop(execution)
        self.border.add(work.model_copy(update={"placement": Placement(partition=partition)}))
        return execution

    def number(self, execution: str) -> str:
        """Its job in Slurm, once the agent has told of it."""
        events = self.border.events
        self.border.wait(
            lambda: any(each.scheduler_ref and each.scheduler_ref.slurm_job_id for each in events.get(execution, ())),
            f"{execution} has a number",
            150,
        )
        return next(
            each.scheduler_ref.slurm_job_id
            for each in events[execution]
            if each.scheduler_ref and each.scheduler_ref.slurm_job_id
        )

    def told(self, execution: str) -> tuple[str, str | None, bool | None]:
        """How it ended: state, code, whether it may be tried again."""
        last = self.border.last(execution)
        return (str(last.state), last.error.code, last.error.retryable) if last.error else (str(last.state), None, None)


@pytest.fixture
def node(site: Site, tmp_path: Path) -> Iterator[Node]:
    border = Border()
    made = Node(site, border, tmp_path)
    yield made
    if made.agent is not None and made.agent.poll() is None:
        made.stop()
    border.close()
    print((tmp_path / "log").read_text())  # shown where the test fails


@contextmanager
def running(node: Node) -> Iterator[None]:
    node.start()
    yield
    node.stop()


def test_each_way_to_end_is_told_in_order(node: Node):
    good = node.submit("echo 42 > results/answer; sleep 1")
    bad = node.submit("exit 3")
    cancelled = node.submit("sleep 900", walltime_seconds=1200)
    removed = node.submit("sleep 900", walltime_seconds=1200)
    late = node.submit("sleep 900", walltime_seconds=1200)
    greedy = node.submit("python3 -c \"import time; x = b'1' * (400 * 2**20); time.sleep(60)\"")
    refused = node.submit("true", partition="nosuch")
    wanted = {
        good: ("completed", None, None), bad: ("failed", "FAILED", False), cancelled: ("failed", "CANCELLED", False),
        removed: ("failed", "CANCELLED", False), late: ("failed", "TIMEOUT", False),
        refused: ("failed", "SUBMISSION_REJECTED", False),
    }  # fmt: skip
    if node.site.slurm.limits_memory:
        wanted[greedy] = ("failed", "OUT_OF_MEMORY", False)

    with running(node):
        for execution in (cancelled, removed, late):
            until(lambda execution=execution: "running" in node.border.states(execution))
        node.border.cancel(cancelled)
        node.site.slurm.run("scancel", node.number(removed))
        node.site.slurm.run("scontrol", "update", f"JobId={node.number(late)}", "EndTime=now")
        node.border.wait_for_end(*wanted, seconds=300)

    assert {execution: node.told(execution) for execution in wanted} == wanted
    assert all(complete_and_in_order(node.border.states(execution)) for execution in wanted)
    assert node.border.states(refused) == ["accepted", "failed"]
    assert node.border.refusals == []
    assert [len(node.site.jobs(execution)) for execution in wanted if execution != refused] == [1] * (len(wanted) - 1)
    result = node.border.last(good).result_ref
    assert result is not None
    answer = Path(result.output_uri.removeprefix("file://")) / "results" / "answer"
    assert answer.read_text() == "42\n"


def test_an_agent_killed_again_and_again_tells_all_of_it_once(node: Node):
    executions = [node.submit("sleep 2") for _ in range(3)]
    for moment in (lambda: node.border.handed > 0, lambda: any(node.border.states(each) for each in executions)):
        node.start()
        until(moment)
        node.stop(signal.SIGKILL)

    with running(node):
        node.border.wait_for_end(*executions, seconds=300)

    assert [node.border.states(each) for each in executions] == [["accepted", "running", "completed"]] * 3
    assert node.border.refusals == []
    assert [len(node.site.jobs(each)) for each in executions] == [1] * 3
