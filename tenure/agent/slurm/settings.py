"""What a site can say about its Slurm: the section ``[slurm]`` of ``agent.toml``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

_Option = Annotated[str, StringConstraints(pattern=r"^--?[A-Za-z][^\x00]*$")]


class SlurmSettings(BaseModel):
    """All have defaults that suit a cluster as it comes."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")

    programs: Path | None = None
    """The folder of sbatch, squeue, scancel, scontrol and sacct; by default they are looked for on the PATH."""
    command_seconds: float = Field(default=60, gt=0)
    """How long one of them may take."""
    output_mib: int = Field(default=512, ge=1)
    """How much one of them may print; more counts as no answer."""
    settle_seconds: float = Field(default=10, ge=0, le=300)
    """How long a job may take to appear once the controller answers again, where the answer of sbatch was lost."""
    requeue: bool = False
    """Whether Slurm itself may begin a job anew. Without it a preemption or a failing node ends the job, and the queue's
    retry policy makes another attempt, which has a record of its own.
    """
    options: tuple[_Option, ...] = ()
    """What else sbatch is given, such as ``--constraint=avx512``."""
    completions: Path | None = None
    """The file of jobcomp/filetxt, where it can be read on this host; by default where slurm.conf has it."""
    completions_mib: int = Field(default=64, ge=1)
    """How much of the end of that file is read."""
    accounting_days: int = Field(default=31, ge=1)
    """How far back sacct is asked, where there is accounting."""
