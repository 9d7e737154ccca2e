"""Slurm's Prolog and Epilog ring for the agent: states come by the ring, and a bell that nobody hears changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.agent.doorbell import script
from tenure.demo.hpc.slurm import SlurmCluster
from tenure.demo.hpc.stage import Manners, Node, Server
from tests.hpc.bench import counted_programs
from tests.hpc.house import one_job_each, state_of, submit, wait_until

#: An hour between two questions: whatever comes sooner was rung for.
_SELDOM = {"fastest_seconds": 3600, "slowest_seconds": 3600, "rung_seconds": 0.2}
_AT_THE_CONTROLLER, _AT_THE_NODES = ("PrologSlurmctld", "EpilogSlurmctld"), ("Prolog", "Epilog")
_WAIT = "while [ ! -e $HERE/go ]; do sleep 0.05; done"


@pytest.fixture(scope="module")
def folder(short_folder: Path) -> Path:
    return short_folder / "belled"


@pytest.fixture(scope="module")
def cluster(slurm: SlurmCluster, folder: Path) -> Iterator[SlurmCluster]:
    """A Slurm of its own: the other tests' has no hooks."""
    folder.mkdir()
    ring = folder / "ring"
    ring.write_text(script(folder / "node" / "state" / "bell", os.geteuid()))
    ring.chmod(0o755)
    with SlurmCluster(folder / "slurm", hooks=dict.fromkeys(_AT_THE_CONTROLLER, ring)) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def node(server: Server, cluster: SlurmCluster, folder: Path) -> Iterator[Node]:
    programs = counted_programs(folder / "programs", folder / "calls")
    manners = Manners(slurm={"settle_seconds": 1, "programs": str(programs)}, watch=_SELDOM)
    node = Node(server, cluster, "belled", folder / "node", manners)
    node.start_agent()
    wait_until("the server has heard of the node", node.heard_of, 60, node.agent.tail)
    yield node
    node.stop()


def hook(cluster: SlurmCluster, hooks: tuple[str, str]) -> None:
    """Let Slurm ring at these points and no others."""
    lines = cluster.site.conf.read_text().splitlines()
    kept = [line for line in lines if not line.startswith(("Prolog", "Epilog"))]
    ring = cluster.folder.parent / "ring"
    cluster.site.conf.write_text("\n".join([*kept, *(f"{each}={ring}" for each in hooks), ""]))
    cluster.run("scontrol", "reconfigure")


@pytest.mark.parametrize("hooks", [_AT_THE_CONTROLLER, _AT_THE_NODES], ids=["at the controller", "at the nodes"])
def test_what_prolog_and_epilog_ring_for_is_told_at_once(
    node: Node, cluster: SlurmCluster, tmp_path: Path, hooks: tuple[str, str]
):
    hook(cluster, hooks)
    first = submit(node, tmp_path, _WAIT)
    first.running()
    # The first one of all was looked at when it was submitted; this one is only looked at where somebody rings.
    second = submit(node, tmp_path, _WAIT)
    second.running()
    calls = (cluster.folder.parent / "calls").read_text().split()

    (second.work / "go").touch()
    assert second.ended()["projection_state"] == "succeeded"
    (first.work / "go").touch()
    assert first.ended()["projection_state"] == "succeeded"

    one_job_each(first, second)
    asked = (cluster.folder.parent / "calls").read_text().split()[len(calls) :]
    assert set(asked) == {"squeue"}


def test_a_bell_that_nobody_hears_delays_no_job_and_loses_nothing(node: Node, cluster: SlurmCluster, tmp_path: Path):
    held = submit(node, tmp_path, _WAIT)
    job = held.running()
    node.agent.kill()
    (node.folder / "state" / "bell").unlink()

    (held.work / "go").touch()
    deaf = cluster.run("sbatch", "--parsable", "--wrap=true", "--mem=16", "--output=/dev/null").strip()

    for each in (job, deaf):
        wait_until("it ends", lambda each=each: state_of(cluster, each) == "COMPLETED")  # type: ignore[misc]
    # A Prolog that fails takes the node away.
    wait_until("all nodes are free", lambda: set(cluster.states().values()) == {"idle"})
    assert not (node.folder / "state" / "bell").exists()
    assert held.states() == ["accepted", "running"]
    node.start_agent()
    assert held.ended()["projection_state"] == "succeeded"
    one_job_each(held)
