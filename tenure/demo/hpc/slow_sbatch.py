"""A ``sbatch`` that can be stopped between submitting and saying so, which is when a crash is worst."""

from __future__ import annotations

import os
import shlex
import signal
from pathlib import Path

from tenure.demo.hpc.slurm.programs import program

_OTHERS = ("squeue", "scancel", "scontrol", "sacct")


class SlowSbatch:
    """A folder with Slurm's programs; while it is held, ``sbatch`` submits and then says nothing."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._held, self._waiting = folder / "held", folder / "waiting"
        held, waiting = shlex.quote(str(self._held)), shlex.quote(str(self._waiting))
        _write(
            folder / "sbatch",
            f'told=$({program("sbatch")} "$@") || exit\n'
            f"while [ -e {held} ]; do echo $$ >{waiting}; sleep 0.1; done\n"
            'echo "$told"',
        )
        for name in _OTHERS:
            _write(folder / name, f'exec {program(name)} "$@"')

    def hold(self) -> None:
        """From now on answers do not come."""
        self._waiting.unlink(missing_ok=True)
        self._held.touch()

    def holds_an_answer(self) -> bool:
        """Whether a job was submitted of which nobody knows."""
        return self._waiting.exists() and self._waiting.stat().st_size > 0

    def lose_the_answer(self) -> None:
        """Kill the ``sbatch`` that waits: nobody will ever hear the number of its job."""
        pid = int(self._waiting.read_text())
        os.killpg(os.getpgid(pid), signal.SIGKILL)
        self._held.unlink()


def _write(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
