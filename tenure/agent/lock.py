"""One agent for a state folder: a lock that the kernel frees when its holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from tenure.agent.errors import StateFolderInUse, StateFolderUnusable

FILE = "agent.lock"


class StateLock:
    """Held from ``take`` until ``release`` or death."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._descriptor: int | None = None

    def take(self) -> None:
        """Make the folder and lock it. Raises StateFolderInUse, StateFolderUnusable."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        except OSError as error:
            raise StateFolderUnusable(
                f"The state folder {self._path.parent} cannot be used: {error.strerror}.",
                "Make it, and give it to the agent's user; or name another with --state-folder.",
            ) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.read(descriptor, 32).decode(errors="replace").strip()
            os.close(descriptor)
            raise StateFolderInUse(
                f"Another agent works in {self._path.parent}" + (f" (process {holder})." if holder else "."),
                "A state folder has one agent. Stop that one, or give this one another node and folder.",
            ) from error
        with contextlib.suppress(OSError):  # on a full disk nobody is told which process it is
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{os.getpid()}\n".encode())
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go of it."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None


def holder_of(folder: Path) -> int | None:
    """The process of the agent that works in a folder; None where none does."""
    try:
        descriptor = os.open(folder / FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        holder = os.read(descriptor, 32).decode(errors="replace").strip()
        return int(holder) if holder.isdigit() else 0
    finally:
        os.close(descriptor)
    return None
