"""Where the Unix socket goes: beside the data, or in a short-named folder where that path would be too long."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from tenure.embedded.account import Account
from tenure.embedded.errors import SocketPathTooLong

# Linux takes 107 bytes, macOS 103; the socket's own name is ".s.PGSQL." and the port, and its lock adds ".lock".
_LONGEST_FOLDER = 103 - len("/.s.PGSQL.65535")
_PREFIX = "tenure-sock-"
_SHORT_PARENT = Path("/tmp")  # mkdtemp makes the folder in it  # noqa: S108  # nosec B108


def prepare(preferred: Path, account: Account) -> Path:
    """A folder for the socket, made and closed to other users. Raises SocketPathTooLong, OSError."""
    if len(os.fsencode(preferred)) <= _LONGEST_FOLDER:
        preferred.mkdir(mode=0o700, exist_ok=True)
        if preferred.stat().st_uid != account.uid:
            account.own(preferred)
        return preferred
    try:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_SHORT_PARENT))
    except OSError as error:
        raise SocketPathTooLong(
            f"The path {preferred} is too long for a Unix socket, and no folder could be made in {_SHORT_PARENT}.",
            "Set TENURE_HOME to a folder with a shorter path.",
        ) from error
    account.own(folder)
    return folder


def discard(socket_dir: str) -> None:
    """Remove a short-named folder of ours that a server no longer uses; leave every other folder alone."""
    folder = Path(socket_dir)
    if not socket_dir or folder.parent != _SHORT_PARENT or not folder.name.startswith(_PREFIX):
        return
    try:
        found = folder.lstat()
    except OSError:
        return
    if stat.S_ISDIR(found.st_mode) and (os.geteuid() in {0, found.st_uid}):
        shutil.rmtree(folder, ignore_errors=True)


def forget_stale(folder: Path, port: int) -> None:
    """Remove what a crashed server left of its socket; called only when its server is known to be gone."""
    for name in (f".s.PGSQL.{port}", f".s.PGSQL.{port}.lock"):
        (folder / name).unlink(missing_ok=True)
