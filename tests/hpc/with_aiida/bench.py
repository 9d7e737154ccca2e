"""A site that uses AiiDA, as the tests have it, and how to do it harm."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from sqlalchemy import event
from sqlalchemy.engine import Engine

from tenure.agent.aiida import processes
from tenure.agent.aiida.adapter import AiidaScheduler
from tenure.agent.aiida.processes import Process
from tenure.agent.aiida.settings import AiidaSettings
from tenure.agent.slurm.settings import SlurmSettings
from tenure.demo.hpc.slurm import SlurmCluster
from tenure.remote.model.contracts import Placement
from tenure.testing.scheduler_contract import SchedulerBench
from tests.hpc.house import Submission, one_job_each, wait_until
from tests.hpc.with_aiida.profile import PROFILE

DYING_AGENT = Path(__file__).with_name("dying_agent.py")

SHIM = """#!/bin/bash
# The sbatch of the daemon's worker: real, but for what a test has asked for.
trouble={trouble}
if [ -e "$trouble/refuse" ]; then
    echo "sbatch: error: Batch job submission failed: Unable to contact slurm controller (connect failure)" >&2
    exit 1
fi
if [ -e "$trouble/deny" ]; then
    rm "$trouble/deny"
    {sbatch} "$@" >"$trouble/denied"
    echo "sbatch: error: Batch job submission failed: Unspecified error" >&2
    exit 1
fi
{sbatch} "$@"
status=$?
if [ -e "$trouble/kill" ]; then
    rm "$trouble/kill"
    touch "$trouble/killed"
    # Whoever would read the answer or write it down: the shell around this, and the worker above it.
    pid=$PPID
    while [ "$pid" -gt 1 ] && ! grep --quiet --text circus "/proc/$pid/cmdline"; do
        parent=$(awk '{{ print $4 }}' "/proc/$pid/stat")
        kill -KILL "$pid"
        pid=$parent
    done
fi
exit "$status"
"""


@dataclass(frozen=True)
class Site:
    """What a site that uses AiiDA has, and how to do it harm."""

    slurm: SlurmCluster
    folder: Path

    @property
    def trouble(self) -> Path:
        """A file ``refuse`` in it keeps sbatch from submitting; ``kill`` kills who would hear of the next number, and ``deny``
        has it say that the next job, which is there, is refused.
        """
        return self.folder / "trouble"

    def settings(self, computer: str = "cluster") -> AiidaSettings:
        return AiidaSettings.model_validate(self.section(computer))

    def section(self, computer: str = "cluster") -> dict[str, Any]:
        """The section ``aiida`` of ``agent.toml``."""
        folder = str(self.folder / "aiida")
        return {"computer": computer, "config_folder": folder, "profile": PROFILE, "again_seconds": 3}

    def open(self, computer: str = "cluster") -> AiidaScheduler:
        scheduler = AiidaScheduler(self.settings(computer), SlurmSettings(command_seconds=20))
        scheduler.open()
        return scheduler

    def daemon(self) -> list[psutil.Process]:
        """The daemon's processes: the supervisor first, then broker and workers."""
        found: list[psutil.Process] = []
        for file in (self.folder / "aiida" / ".aiida" / "daemon").glob("circus-*.pid"):
            with suppress(psutil.NoSuchProcess, ValueError):
                supervisor = psutil.Process(int(file.read_text()))
                found += [supervisor, *supervisor.children(recursive=True)]
        return found

    def verdi(self, *arguments: str) -> str:
        done = subprocess.run(
            [Path(sys.executable).parent / "verdi", "--profile", PROFILE, *arguments],
            env=os.environ | {"AIIDA_PATH": str(self.folder / "aiida")}, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        return done.stdout

    def jobs(self, key: str) -> list[str]:
        """The numbers of all jobs that Slurm has, or had, under a key."""
        lines = self.slurm.run("squeue", "--noheader", "--all", "--states=all", "--format=%i|%j").splitlines()
        return [number for number, _, name in (line.partition("|") for line in lines) if name == key]


def stop(processes: list[psutil.Process]) -> None:
    """End the daemon: its supervisor ends the others."""
    for process in processes[:1]:
        process.terminate()
    _, left = psutil.wait_procs(processes, timeout=15)
    for process in left:
        process.kill()


class AiidaBench(SchedulerBench):
    """The adapter on the shared site."""

    small = SchedulerBench.small.model_copy(update={"memory_mib": 64})
    shortest_walltime = 60
    pause = 0.25
    patience = 300.0

    def __init__(self, site: Site, folder: Path, computer: str = "cluster") -> None:
        self.site = site
        self.folder = folder
        self.placement = Placement(partition="normal") if computer == "cluster" else Placement()
        self.computer = computer
        self.scheduler = site.open(computer)
        self._asked = 0
        event.listen(Engine, "before_cursor_execute", self._count)
        self.enforces_memory = computer == "cluster" and site.slurm.limits_memory

    def reopened(self) -> AiidaScheduler:
        self.scheduler = self.site.open(self.computer)
        return self.scheduler

    @contextmanager
    def away(self) -> Iterator[None]:
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{self._silent()}{os.pathsep}{path}"  # the agent's own; the daemon's worker goes on
        try:
            yield
        finally:
            os.environ["PATH"] = path

    def _silent(self) -> Path:
        folder = self.site.folder / "silent"
        folder.mkdir(exist_ok=True)
        for name in ("squeue", "scancel", "sbatch"):
            (folder / name).write_text(
                "#!/bin/sh\necho 'Unable to contact slurm controller (connect failure)' >&2\nexit 1\n"
            )
            (folder / name).chmod(0o755)
        return folder

    def close(self) -> None:
        event.remove(Engine, "before_cursor_execute", self._count)
        self.scheduler.close()

    def _count(self, _connection: Any, _cursor: Any, statement: str, *_more: Any) -> None:
        self._asked += statement.startswith("SELECT") and "FROM db_dbnode" in statement.replace("\n", " ")

    def questions(self) -> int:
        """How many times AiiDA's database was asked for processes. Slurm is asked once at most beside that."""
        return self._asked

    def let_time_run_out(self, job_id: str) -> None:
        if self.computer != "cluster":
            return
        self.site.slurm.run("scontrol", "update", f"JobId={self.running(job_id).slurm_job_id}", "EndTime=now")


def process_of(bench: AiidaBench, job_id: str) -> Process:
    """What AiiDA's database has of a job."""
    (process,) = bench.scheduler._do(lambda: processes.by_uuid([job_id]))
    return process


def calcjob_of(bench: AiidaBench, submission: Submission, execution: int = 0) -> Process:
    """The one process of AiiDA that an execution became, once AiiDA is done with it."""
    key = submission.executions[execution]["execution_id"]

    def found() -> list[Process]:
        return bench.scheduler._do(lambda: processes.by_key([key]))

    wait_until(f"AiiDA is done with {key}", lambda: all(process.ended for process in found()))
    (process,) = found()
    return process


def one_calcjob_each(bench: AiidaBench, *submissions: Submission) -> None:
    """Each execution is one CalcJob of AiiDA with one job in Slurm, which was told of in the contract's order."""
    one_job_each(*submissions)
    for submission in submissions:
        told = [calcjob_of(bench, submission, number).job_id for number in range(len(submission.executions))]
        assert told == submission.jobs, submission.told
