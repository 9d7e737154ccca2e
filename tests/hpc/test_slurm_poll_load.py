"""One ``squeue`` for each look, whatever the number of jobs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tenure.demo.hpc.slurm import SlurmCluster
from tenure.demo.hpc.stage import Node
from tests.hpc.bench import counted_programs
from tests.hpc.conftest import MakeNode
from tests.hpc.house import submit, wait_until

_INTERVAL = 1.0
_LOOKS = 6


@pytest.fixture(scope="module")
def calls(short_folder: Path) -> Path:
    return short_folder / "load" / "calls"


@pytest.fixture(scope="module")
def node(make_node: MakeNode, calls: Path, slurm: SlurmCluster) -> Iterator[Node]:
    programs = counted_programs(calls.parent, calls)
    yield make_node(programs=str(programs), watch={"fastest_seconds": _INTERVAL, "slowest_seconds": _INTERVAL})
    slurm.run("scancel", f"--user={os.geteuid()}", "--partition=closed")


@pytest.mark.parametrize("jobs", [1, 50, 500])
def test_slurm_is_asked_once_for_each_interval(
    node: Node, calls: Path, tmp_path: Path, jobs: int, tell: Callable[[str], None]
):
    before = _submitted(node)
    with ThreadPoolExecutor(8) as product:
        list(
            product.map(
                lambda _: submit(node, tmp_path, "true", partition="closed", memory_mib=1), range(jobs - before)
            )
        )
    wait_until(f"{jobs} jobs are in Slurm", lambda: _submitted(node) == jobs, 100, node.agent.tail)
    wait_until("all is told", lambda: _waiting(node) == 0, 60, node.agent.tail)

    first, begun = calls.read_text().split(), time.monotonic()
    wait_until("it has looked some times", lambda: _squeues(calls, len(first)) >= _LOOKS, 60)
    seconds = time.monotonic() - begun
    asked = calls.read_text().split()[len(first) :]

    assert set(asked) == {"squeue"}
    assert len(asked) <= seconds / _INTERVAL + 1
    tell(f"{jobs} jobs: {len(asked)} squeue in {seconds:.1f} s, at an interval of {_INTERVAL:g} s")


def _squeues(calls: Path, after: int) -> int:
    return calls.read_text().split()[after:].count("squeue")


def _submitted(node: Node) -> int:
    return len(node.slurm.run("squeue", "-h", "-p", "closed", "-t", "PENDING", "-o", "%i").split())


def _waiting(node: Node) -> int:
    """How many events the agent has still to send."""
    return node.look().events.get("waiting", 0)
