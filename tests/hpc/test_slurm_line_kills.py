"""kill -9 of the agent at every line between claim and recorded job id, on a real Slurm and at the real server: one job each,
every event in order, and nothing amiss in the record.

By default a sample of the lines, once each. ``TENURE_CRASH_SAMPLES=50`` kills 50 times at each line of the sample, and
``TENURE_CRASH_LINES=all`` takes all lines (tests/agent/test_crashes.py does the same on processes of this machine).
"""

from __future__ import annotations

import itertools
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.demo.hpc.slurm import SlurmCluster
from tenure.demo.hpc.stage import Manners, Node, Server
from tests.agent.border import complete_and_in_order
from tests.agent.conftest import settings_for
from tests.agent.crashing import MISSED, Nursery, Point
from tests.agent.test_crashes import LINES, SAMPLES, lines_between, sample
from tests.hpc.house import jobs_by_key, submit, wait_until

#: The jobs of so many crashes are looked at together; the next ones are another node's, in a folder of their own.
_IN_ONE_FOLDER = 25
_SETTINGS: dict[str, Any] = {"kind": "slurm", "slurm": {"settle_seconds": 0.5}}
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def nursery(slurm: SlurmCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in slurm.environment.items():
            patch.setenv(name, value)
        nursery = Nursery(tmp_path_factory.mktemp("nursery") / "log")
        yield nursery
        nursery.close()


@pytest.mark.timeout(0 if SAMPLES > 1 or LINES == "all" else 300, method="signal")
def test_an_agent_killed_at_any_line_submits_each_execution_once(
    nursery: Nursery, server: Server, slurm: SlurmCluster, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    points = lines_between(nursery, tmp_path, **_SETTINGS)
    assert {"orders.py", "scheduling.py", "slurm/submission.py", "slurm/scheduler.py"} <= {file for file, _ in points}
    chosen = [point for point in sample(points) for _ in range(SAMPLES)]
    seen = Counter[str]()
    for number in range(0, len(chosen), _IN_ONE_FOLDER):
        seen += crash_at(nursery, server, slurm, chosen[number : number + _IN_ONE_FOLDER], tmp_path)
    report = server.client.verify()
    tell(
        f"agent on Slurm killed {seen['killed']} times at {len(set(chosen))} of {len(points)} lines, {seen['missed']} lives did "
        f"not reach their line; {seen['jobs']} jobs for as many submissions, {seen['events']} events in order, verify "
        f"{'clean' if report.clean else 'finds something'}"
    )
    assert report.clean, report
    assert seen["killed"] > 0.7 * len(chosen)


def crash_at(nursery: Nursery, server: Server, slurm: SlurmCluster, points: list[Point], folder: Path) -> Counter[str]:
    """A life for each point, one after the other on the same folder; then one that ends as it should."""
    seen = Counter[str]()
    node = Node(server, slurm, f"kills-{next(_numbers)}", folder / f"round{next(_numbers)}", Manners())
    token = server.token_of(f"agent:{node.name}")
    settings = settings_for(node.folder, f"http://127.0.0.1:{server.port}", node=node.name, **_SETTINGS)
    pid = nursery.start(settings, token)
    wait_until("the server has heard of the node", node.heard_of)
    nursery.stop(pid)
    starts = node.folder / "starts"
    submissions = []
    for point in points:
        submissions.append(submit(node, node.folder, f'echo "$TENURE_EXECUTION_ID" >> {starts}', memory_mib=16))
        status = nursery.wait(nursery.start(settings, token, point=point))
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == MISSED), (point, status)
        seen["killed" if killed else "missed"] += 1
    pid = nursery.start(settings, token)
    for submission in submissions:
        assert submission.ended()["projection_state"] == "succeeded", submission.told
    assert os.WEXITSTATUS(nursery.stop(pid)) == 0
    node.wire.close()
    jobs, keys = jobs_by_key(slurm), []
    for submission in submissions:
        (execution,) = submission.executions
        keys.append(execution["execution_id"])
        assert complete_and_in_order(submission.states()), submission.told
        told = {event["scheduler_ref"]["slurm_job_id"] for event in submission.events() if event.get("scheduler_ref")}
        assert jobs[keys[-1]] == told, "one job for each submission, and that is the one that was told of"
        seen += Counter(jobs=len(told), events=len(submission.states()))
    assert Counter(starts.read_text().split()) == Counter(dict.fromkeys(keys, 1)), "each ran once"
    return seen
