"""kill -9 of the agent at every line between claim and recorded job id: one job each, and every event in its order.

By default a sample of the lines, once each. ``TENURE_CRASH_SAMPLES=50`` kills 50 times at each line of the sample, and
``TENURE_CRASH_LINES=all`` takes all lines.
"""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agent.border import TOKEN, Border, complete_and_in_order, script
from tests.agent.conftest import settings_for
from tests.agent.crashing import MISSED, Nursery, Point

SAMPLES = int(os.environ.get("TENURE_CRASH_SAMPLES", "1"))
LINES = os.environ.get("TENURE_CRASH_LINES", "16")
#: After so many crashes the next ones are in a folder of their own, so that each life has little to catch up with.
_IN_ONE_FOLDER = 25


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    nursery = Nursery(tmp_path_factory.mktemp("nursery") / "log")
    yield nursery
    nursery.close()


def lines_between(nursery: Nursery, folder: Path, **settings: Any) -> list[Point]:
    """Every line of tenure.agent that runs between claim and recorded job id, in the order in which it first does."""
    border, record = Border(), folder / "lines.json"
    border.submit(script(folder, "true"))
    pid = nursery.start(settings_for(folder, border.url, **settings), TOKEN, record=record)
    border.wait_for_end(*border.work)
    nursery.stop(pid)
    border.close()
    return [(file, line) for file, line in json.loads(record.read_text())]


def sample(points: list[Point]) -> list[Point]:
    if LINES == "all" or int(LINES) >= len(points):
        return points
    step = len(points) / int(LINES)
    return [points[int(index * step)] for index in range(int(LINES))]


def crash_at(nursery: Nursery, points: list[Point], folder: Path) -> Counter[str]:
    """A life for each point, one after the other on the same folder; then one that ends as it should."""
    border, seen = Border(), Counter[str]()
    settings = settings_for(folder, border.url)
    starts = folder / "starts"
    uri = script(folder, f'echo "$TENURE_EXECUTION_ID" >> {starts}')
    for point in points:
        border.submit(uri)
        status = nursery.wait(nursery.start(settings, TOKEN, point=point))
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        assert killed or (os.WIFEXITED(status) and os.WEXITSTATUS(status) == MISSED), (point, status)
        seen["killed" if killed else "missed"] += 1
    pid = nursery.start(settings, TOKEN)
    border.wait_for_end(*border.work, seconds=100)
    assert os.WEXITSTATUS(nursery.stop(pid)) == 0
    border.close()
    ran = Counter(starts.read_text().split())
    assert ran == Counter(dict.fromkeys(border.work, 1)), "one job for each submission"
    jobs = [json.loads(path.read_text())["key"] for path in (settings.folder / "local" / "jobs").glob("*/job.json")]
    assert sorted(jobs) == sorted(border.work)
    for execution in border.work:
        assert complete_and_in_order(border.states(execution)), border.states(execution)
        ids = {event.scheduler_ref.slurm_job_id for event in border.events[execution] if event.scheduler_ref}
        assert len(ids) == 1
    assert border.refusals == []
    return seen


@pytest.mark.slow
@pytest.mark.timeout(0 if SAMPLES > 1 or LINES == "all" else 300)
def test_an_agent_killed_at_any_line_submits_each_execution_once(
    nursery: Nursery, tmp_path: Path, tell: Callable[[str], None]
) -> None:
    points = lines_between(nursery, tmp_path)
    files = {file for file, _ in points}
    assert {"orders.py", "preparing.py", "scheduling.py", "store/store.py", "local/scheduler.py"} <= files
    chosen = [point for point in sample(points) for _ in range(SAMPLES)]
    seen = Counter[str]()
    for number in range(0, len(chosen), _IN_ONE_FOLDER):
        folder = tmp_path / f"round{number}"
        folder.mkdir()
        seen += crash_at(nursery, chosen[number : number + _IN_ONE_FOLDER], folder)
    where = f"at {len(set(chosen))} of the {len(points)} lines between claim and recorded job id"
    tell(f"agent killed {seen['killed']} times {where}; {seen['missed']} lives did not reach their line")
    assert seen["killed"] > 0.7 * len(chosen)
