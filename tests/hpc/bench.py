"""What the tests of the Slurm adapter do behind its back."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tenure.agent.slurm import SlurmScheduler, SlurmSettings
from tenure.demo.hpc.slurm import SlurmCluster
from tenure.remote.model.contracts import Placement
from tenure.remote.model.fields import ResourceShape
from tenure.testing.scheduler_contract import SchedulerBench

_COUNTED = ("sbatch", "squeue", "scancel", "sacct")


class SlurmBench(SchedulerBench):
    """The adapter on a Slurm of the tests; its environment must be set. Each call of a program is written down."""

    small = ResourceShape(cpu=1, memory_mib=64, walltime_seconds=600)
    too_much = ResourceShape(cpu=1, memory_mib=10**7, walltime_seconds=600)
    shortest_walltime = 60

    def __init__(self, slurm: SlurmCluster, folder: Path, partition: str = "normal", **settings: object) -> None:
        self.slurm = slurm
        self.folder = folder
        self.placement = Placement(partition=partition)
        self.enforces_memory = slurm.limits_memory
        self.calls = folder / "calls"
        self.settings = SlurmSettings.model_validate(
            {"programs": counted_programs(folder / "programs", self.calls), "settle_seconds": 1} | settings
        )
        self.scheduler = self.reopened()

    def reopened(self) -> SlurmScheduler:
        scheduler = SlurmScheduler(self.settings)
        scheduler.open()
        return scheduler

    @contextmanager
    def away(self) -> Iterator[None]:
        # Without munge no program reaches the controller, and says so at once; without a controller it tries for long.
        socket = self.slurm.site.socket
        away = socket.with_name("away")
        socket.rename(away)
        try:
            yield
        finally:
            away.rename(socket)

    def called(self, program: str) -> int:
        return self.calls.read_text().split().count(program) if self.calls.exists() else 0

    def questions(self) -> int | None:
        return self.called("squeue") + self.called("sacct")

    def let_time_run_out(self, job_id: str) -> None:
        self.slurm.run("scontrol", "update", f"JobId={job_id}", "EndTime=now")


def counted_programs(folder: Path, calls: Path, instead: Mapping[str, str] | None = None) -> Path:
    """A folder with Slurm's programs, each of which writes down its name first; ``instead`` has scripts of other ways."""
    folder.mkdir(exist_ok=True)
    for name in (*_COUNTED, "scontrol"):
        real = shutil.which(name) or f"/usr/bin/{name}"
        then = (instead or {}).get(name, f'exec {real} "$@"')
        (folder / name).write_text(f"#!/bin/sh\necho {name} >>{shlex.quote(str(calls))}\n{then}\n")
        (folder / name).chmod(0o755)
    return folder
