"""Runs one of Slurm's programs: bounded in time and output, in an environment in which nothing changes what it does."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from tenure.agent.scheduler import SchedulerUnavailable

#: Variables that are options in disguise: of sbatch, squeue, scancel and sacct, and of a job that the agent may run in.
_MEDDLING = ("SBATCH_", "SQUEUE_", "SCANCEL_", "SACCT_", "SALLOC_", "SRUN_", "SLURM_")
_KEPT = {"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT"}
_CHUNK = 1 << 16
_ERROR_BYTES = 1 << 20
_LAST_WORDS = 500


@dataclass(frozen=True, slots=True)
class Answer:
    """How a program ended, and what it said."""

    status: int
    out: bytes
    error: str


class Programs:
    """Slurm's programs on this host."""

    def __init__(self, folder: Path | None, seconds: float, output_bytes: int) -> None:
        self._folder = folder
        self._seconds = seconds
        self._output_bytes = output_bytes

    def path(self, name: str) -> str:
        """Where a program is. Raises SchedulerUnavailable where it is not."""
        found = shutil.which(name, path=str(self._folder) if self._folder is not None else None)
        if found is None:
            raise SchedulerUnavailable(f"{name} is not on this node's PATH; are Slurm's client programs installed?")
        return found

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """What a program gets: ours without what would change its ways, its messages in English."""
        kept = {name: value for name, value in os.environ.items() if name in _KEPT or not name.startswith(_MEDDLING)}
        return kept | dict(more or {}) | {"LC_ALL": "C"}

    def ask(self, name: str, *arguments: str, environment: Mapping[str, str] | None = None) -> bytes:
        """What the program printed. Raises SchedulerUnavailable where it fails, takes too long, or prints too much."""
        answer = self.run(name, *arguments, environment=environment)
        if answer.status != 0:
            raise SchedulerUnavailable(f"{name} failed: {last_words(answer.error) or f'status {answer.status}'}")
        return answer.out

    def run(self, name: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Answer:
        """Run it to its end. Raises SchedulerUnavailable where it takes too long or prints too much."""
        process = subprocess.Popen(
            [self.path(name), *arguments], env=self.environment(environment), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        out, error = (
            _Reader(process, process.stdout, self._output_bytes),
            _Reader(process, process.stderr, _ERROR_BYTES),
        )
        try:
            status = process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            end(process)
            raise SchedulerUnavailable(f"{name} gave no answer within {self._seconds:g} s") from None
        finally:
            out.finish()
            error.finish()
        if out.too_much:
            raise SchedulerUnavailable(f"{name} printed more than {self._output_bytes >> 20} MiB")
        return Answer(status, bytes(out.read), bytes(error.read).decode(errors="replace"))


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program that was started in a session of its own, and what it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def last_words(error: str) -> str:
    """The end of an error output, on one line."""
    return " ".join(error.split())[-_LAST_WORDS:]


class _Reader:
    """Reads a pipe in a thread, and ends the program where it prints more than it may."""

    def __init__(self, process: subprocess.Popen[bytes], pipe: IO[bytes], limit: int) -> None:
        self._process, self._pipe, self._limit = process, pipe, limit
        self.read = bytearray()
        self.too_much = False
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while chunk := os.read(self._pipe.fileno(), _CHUNK):
            self.read += chunk
            if len(self.read) > self._limit:
                self.too_much = True
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                return

    def finish(self) -> None:
        self._thread.join()
        self._pipe.close()
