"""Reads ``postmaster.pid`` and tells whether the process that it names is really this data folder's server."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class PidFile:
    """The lines of ``postmaster.pid`` that we need. Times are not in it: a pid is checked by looking at the process."""

    pid: int
    port: int | None
    socket_dir: str
    listen: str
    status: str

    @property
    def ready(self) -> bool:
        """Whether the server accepts connections."""
        return self.status == "ready"


def read(pgdata: Path) -> PidFile | None:
    """What ``postmaster.pid`` says, or None when there is none or it is not yet written. Raises PermissionError."""
    try:
        lines = (pgdata / "postmaster.pid").read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not lines or not lines[0].strip().lstrip("-").isdigit():
        return None
    lines += [""] * (8 - len(lines))
    return PidFile(
        pid=abs(int(lines[0])),
        port=int(lines[3]) if lines[3].strip().isdigit() else None,
        socket_dir=lines[4].strip(),
        listen=lines[5].strip(),
        status=lines[7].strip(),
    )


def serves(pid: int, pgdata: Path) -> bool:
    """Whether process ``pid`` lives and is the PostgreSQL server of ``pgdata``.

    A pid alone proves nothing: after a crash or a reboot it may have gone to any program.
    """
    if not Path("/proc/self/stat").exists():
        return _serves_by_ps(pid, pgdata)
    process = Path("/proc") / str(pid)
    try:
        arguments = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    if Path(os.fsdecode(arguments[0])).name != "postgres":
        return False  # also a zombie, whose command line is empty
    try:
        return (process / "cwd").readlink() == pgdata.resolve()
    except OSError:
        # Root in a container without CAP_SYS_PTRACE may not look at another user's process: trust its command line.
        return any(_same(os.fsdecode(argument), pgdata) for argument in arguments[1:])


def alive(pid: int) -> bool:
    """Whether a process with this pid exists and is no zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    try:
        state = (Path("/proc") / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return not Path("/proc/self/stat").exists()
    return state[0] not in {"Z", "X"}


def _serves_by_ps(pid: int, pgdata: Path) -> bool:
    """The same question for systems without /proc, such as macOS."""
    answer = subprocess.run(
        ["/bin/ps", "-ww", "-o", "stat=,command=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    state, _, command = answer.partition(" ")
    return bool(answer) and not state.startswith("Z") and "postgres" in command and str(pgdata) in command


def _same(argument: str, pgdata: Path) -> bool:
    return argument.startswith("/") and Path(argument) in {pgdata, pgdata.resolve()}
