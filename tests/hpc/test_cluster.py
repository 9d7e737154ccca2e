"""The Slurm of the tests is a real one, and leaves nothing behind."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import psutil
import pytest

from tenure.demo.hpc.slurm import SlurmCluster, cluster
from tenure.demo.hpc.slurm.ports import free_ports


def test_a_job_runs_and_its_exit_code_is_told(slurm: SlurmCluster, tmp_path: Path):
    job = slurm.run("sbatch", "--parsable", f"--chdir={tmp_path}", "--wrap", "echo $SLURM_JOB_ID >told; exit 3").strip()

    wait_for_state(slurm, job, "FAILED")

    assert (tmp_path / "told").read_text().strip() == job
    assert f"JobId={job} " in slurm.site.completions.read_text()


def test_two_run_side_by_side_and_leave_neither_processes_nor_control_groups(short_folder: Path):
    north, south = SlurmCluster(short_folder / "north"), SlurmCluster(short_folder / "south")
    with north, south:
        jobs = [
            each.run("sbatch", "--parsable", "--output=/dev/null", "--wrap", "sleep 600").strip()
            for each in (north, south)
        ]
        for each, job in zip((north, south), jobs, strict=True):
            wait_for_state(each, job, "RUNNING")
        names = [each.site.node(node) for each in (north, south) for node in each.nodes]

    ours = [
        p for p in psutil.process_iter(["cmdline"]) if str(short_folder / "north") in " ".join(p.info["cmdline"] or ())
    ]
    assert ours == []
    assert [path for name in names for path in Path("/sys/fs/cgroup").glob(f"*/slurm_{name}")] == []


def test_a_port_that_somebody_takes_meanwhile_is_made_up_for(short_folder: Path, monkeypatch: pytest.MonkeyPatch):
    with socket.create_server(("", 0)) as somebody:
        taken = [[*free_ports(3), somebody.getsockname()[1]]]
        monkeypatch.setattr(cluster, "free_ports", lambda count: taken.pop() if taken else free_ports(count))
        with SlurmCluster(short_folder / "late") as slurm:
            assert not taken
            assert set(slurm.states().values()) == {"idle"}


def wait_for_state(slurm: SlurmCluster, job: str, state: str) -> None:
    deadline = time.monotonic() + 30
    while (told := slurm.run("squeue", "-a", "-t", "all", "-h", "-o", "%T", "-j", job).strip()) != state:
        assert time.monotonic() < deadline, told
        time.sleep(0.05)
