"""Which programs a Slurm of our own is made of, and where they are."""

from __future__ import annotations

import os
import shutil

from tenure.demo.hpc.slurm.troubles import SlurmMissing

PACKAGES = ("munge", "slurmctld", "slurmd", "slurm-client", "slurm-wlm-basic-plugins")
"""Debian's packages."""

_PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo")


def program(name: str) -> str:
    """The path of a program, also where ``/usr/sbin`` is not on the PATH. Raises SlurmMissing."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/bin:/sbin:/bin")
    if found is None:
        raise SlurmMissing(
            f"Slurm's program {name} is not installed.", f"On Debian, as root: apt-get install {' '.join(PACKAGES)}"
        )
    return found


def missing_programs() -> tuple[str, ...]:
    """Those that are not installed; empty where a Slurm can be started."""
    missing = []
    for name in _PROGRAMS:
        try:
            program(name)
        except SlurmMissing:
            missing.append(name)
    return tuple(missing)
