"""Turns what PostgreSQL or the operating system said into an error that says what to do."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from tenure.embedded.errors import (
    EmbeddedError,
    NoSpace,
    NotADataFolder,
    PermissionDenied,
    PortInUse,
    SocketPathTooLong,
    StartFailed,
)

_NEARLY_FULL = 1024 * 1024


def raise_for_output(output: str, pgdata: Path) -> None:
    """Raise the error that ``output`` (a program's or the log's) stands for, if it is one that we know."""
    if "No space left on device" in output or "Disk quota exceeded" in output or _full(pgdata):
        raise _no_space(pgdata)
    if "Address already in use" in output:
        raise PortInUse(
            "Another program listens on the port that the embedded PostgreSQL should use.",
            "Choose another port, or stop that program (ss -ltnp shows it).",
        )
    if "is too long (maximum" in output:
        raise SocketPathTooLong(
            f"The path of the socket for {pgdata} is too long for the system.",
            "Set TENURE_HOME to a folder with a shorter path.",
        )
    if "Permission denied" in output or "has wrong ownership" in output or "has invalid permissions" in output:
        raise permission_denied(pgdata, _line_with(output, ("Permission denied", "wrong ownership", "invalid permis")))


def disk_is_full(error: OSError) -> bool:
    """Whether a file could not be written for want of space, on the disk or in its user's share of it."""
    return error.errno in {errno.ENOSPC, errno.EDQUOT}


def out_of_space(error: OSError, pgdata: Path) -> EmbeddedError:
    """The error for an operating-system error met while working on ``pgdata``."""
    if disk_is_full(error):
        return _no_space(pgdata)
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return permission_denied(pgdata, str(error))
    if error.errno in {errno.ENOTDIR, errno.ENOENT, errno.EEXIST}:
        return NotADataFolder(
            f"There can be no embedded PostgreSQL in {pgdata}: {error}.",
            "Something else is there, or on the way there. Move it away, or set TENURE_HOME to a folder of your own.",
        )
    return StartFailed(f"The embedded PostgreSQL in {pgdata} could not be worked with: {error}.", "Try again.")


def permission_denied(pgdata: Path, reason: str) -> PermissionDenied:
    """The error for a folder that this user may not use."""
    return PermissionDenied(
        f"You may not use the embedded PostgreSQL in {pgdata}: {reason}.",
        "Run as the user who made it, give the folder to yourself, or set TENURE_HOME to a folder of your own.",
    )


def _no_space(pgdata: Path) -> NoSpace:
    return NoSpace(
        f"There is no space left for the embedded PostgreSQL in {pgdata}; a new one needs about 100 MB.",
        "Free some space there, or set TENURE_HOME to a folder on another disk, then try again.",
    )


def _full(pgdata: Path) -> bool:
    try:
        return shutil.disk_usage(pgdata if pgdata.exists() else pgdata.parent).free < _NEARLY_FULL
    except OSError:
        return False


def _line_with(output: str, needles: tuple[str, ...]) -> str:
    for line in output.splitlines():
        if any(needle in line for needle in needles):
            return line.strip().rstrip(".")
    return output.strip()
