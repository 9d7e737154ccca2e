"""kill -9 of the agent at every line between claim and recorded job id, on a real Slurm: one job each, every event in order.

By default a sample of the lines, once each. ``TENURE_CRASH_SAMPLES=50`` kills 50 times at each line of the sample, and
``TENURE_CRASH_LINES=all`` takes all lines (tests/agent/test_crashes.py does the same on processes of this machine).
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.demo.hpc.slurm import SlurmCluster
from tests.agent.border import TOKEN, Border, complete_and_in_order, script
from tests.agent.conftest import settings_for
from tests.agent.crashing import MISSED, Nursery, Point
from tests.agent.test_crashes import LINES, SAMPLES, lines_between, sample
from tests.hpc.house import jobs_by_key

#: The jobs of so many crashes are looked at together; the next ones are in a folder of their own.
_IN_ONE_FOLDER = 25
_SETTINGS: dict[str, Any] = {"kind": "slurm", "slurm": {"settle_seconds": 0.5}}


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
    nursery: Nursery, slurm: SlurmCluster, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    points = lines_between(nursery, tmp_path, **_SETTINGS)
    assert {"orders.py", "scheduling.py", "slurm/submission.py", "slurm/scheduler.py"} <= {file for file, _ in points}
    chosen = [point for point in sample(points) for _ in range(SAMPLES)]
    seen = Counter[str]()
    for number in range(0, len(chosen), _IN_ONE_FOLDER):
        folder = tmp_path / f"round{number}"
        folder.mkdir()
        seen += crash_at(nursery, slurm, chosen[number : number + _IN_ONE_FOLDER], folder)
    tell(
        f"agent on Slurm killed {seen['killed']} times at {len(set(chosen))} of {len(points)} lines, "
        f"{seen['missed']} lines not reached in that life; one job each"
    )
    assert seen["killed"] > 0.7 * len(chosen)


def crash_at(nursery: Nursery, slurm: SlurmCluster, points: list[Point], folder: Path) -> Counter[str]:
    """A life for each point, one after the other on the same folder; then one that ends as it should."""
    border, seen = Border(), Counter[str]()
    settings = settings_for(folder, border.url, **_SETTINGS)
    starts = folder / "starts"
    uri = script(folder, f'echo "$TENURE_EXECUTION_ID" >> {starts}')
    for point in points:
        border.submit(uri, memory_mib=16)
        status = nursery.wait(nursery.start(settings, TOKEN, point=point))
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == MISSED), (point, status)
        seen["killed" if killed else "missed"] += 1
    pid = nursery.start(settings, TOKEN)
    border.wait_for_end(*border.work, seconds=100)
    assert os.WEXITSTATUS(nursery.stop(pid)) == 0
    border.close()
    assert Counter(starts.read_text().split()) == Counter(dict.fromkeys(border.work, 1)), "each ran once"
    jobs = jobs_by_key(slurm)
    for execution in border.work:
        assert complete_and_in_order(border.states(execution)), border.states(execution)
        told = {event.scheduler_ref.slurm_job_id for event in border.events[execution] if event.scheduler_ref}
        assert jobs[execution] == told, "one job for each submission, and that is the one that was told of"
        assert len(told) == 1
    assert border.refusals == []
    return seen
