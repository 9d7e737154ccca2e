"""One process at a time starts or stops a server: an advisory lock on a file in the Tenure folder."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tenure.embedded.account import Account
from tenure.embedded.errors import StartTimeout


@contextmanager
def exclusive(path: Path, account: Account, timeout: float) -> Iterator[None]:
    """Hold the lock ``path`` for the block; the kernel frees it if we die. ``timeout`` in seconds.

    Raises StartTimeout when another process holds it for longer, OSError when the file cannot be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if account.switch and os.fstat(descriptor).st_uid != account.uid:
            os.fchown(descriptor, account.uid, account.gid)
        _acquire(descriptor, path, timeout)
        yield
    finally:
        os.close(descriptor)


def _acquire(descriptor: int, path: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StartTimeout(
                    f"Another process has been starting or stopping the embedded PostgreSQL for over {timeout:.0f} s.",
                    f"Look for it (fuser {path}), end it if it hangs, then try again.",
                ) from None
            time.sleep(0.02)
        else:
            return
