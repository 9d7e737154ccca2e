"""The processes of a Slurm of our own, each in the foreground under us, so that none outlives us unseen."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tenure.demo.hpc.slurm.troubles import SlurmTrouble

_STOP_SECONDS = 20.0
_LOOK = 0.02


class Daemon:
    """One process in the foreground, its log beside it."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: dict[str, str] | None = None) -> None:
        self.name = name
        self._command = [*_with_us(), *command]
        self._log = log
        self._environment = os.environ | (environment or {})
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it. Call this in the main thread: the process gets SIGTERM when the thread that started it ends."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, cwd="/", env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip

    @property
    def pid(self) -> int:
        """The number of its process; 0 before it was started."""
        return self._process.pid if self._process is not None else 0

    def running(self) -> bool:
        """Whether it runs."""
        return self._process is not None and self._process.poll() is None

    def require(self) -> None:
        """Raises SlurmTrouble where it has ended."""
        if not self.running():
            raise SlurmTrouble(f"{self.name} has ended by itself.", f"Its log ends with:\n{self.tail()}")

    def stop(self) -> None:
        """End it in good order, and by force where that takes too long."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(_STOP_SECONDS)

    def tail(self) -> str:
        """The last lines of its log."""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-8:]) if self._log.exists() else ""


def until(what: str, reached: Callable[[], bool], daemons: Sequence[Daemon], seconds: float = 30.0) -> None:
    """Wait for something while the daemons run. Raises SlurmTrouble."""
    deadline = time.monotonic() + seconds
    while not reached():
        for daemon in daemons:
            daemon.require()
        if time.monotonic() > deadline:
            logs = "\n".join(f"{daemon.name}: {daemon.tail()}" for daemon in daemons)
            raise SlurmTrouble(f"This did not happen within {seconds:.0f} s: {what}.", f"The logs end with:\n{logs}")
        time.sleep(_LOOK)


def _with_us() -> list[str]:
    """Where it can be had, the kernel ends a daemon when we are killed and cannot do it ourselves."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "TERM"] if setpriv is not None else []
