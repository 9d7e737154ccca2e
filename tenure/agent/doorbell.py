"""The bell that a site rings where a job begins or ends: a file, whose change makes the agent ask its scheduler at once.

A hint and no more: what counts is what the scheduler answers, and without any ring the agent asks as often as it is set to. A
file can be reached from all computers that see the state folder, nobody waits at it, and it is there whether or not an agent is.
"""

from __future__ import annotations

import contextlib
import os
import shlex
from pathlib import Path

from tenure.agent.telling import LOG

_SCRIPT = """\
#!/bin/sh
# For slurm.conf, as Prolog= and Epilog=, or as PrologSlurmctld= and EpilogSlurmctld=: tells Tenure's agent at once that a
# job of its user begins or ends. Waits for nothing and never fails, whether or not there is an agent.
PATH=/usr/bin:/bin
if [ "$SLURM_JOB_UID" = {user} ]; then
    # What is left in this process's group is killed at its end, so it waits until the other one is in a group of its own.
    : "$(setsid -f sh -c 'exec >/dev/null; exec timeout 10 touch -ch "$1"' sh {bell} </dev/null 2>/dev/null)"
fi
exit 0
"""


class Doorbell:
    """Heard by one agent."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._heard: tuple[int, ...] | None = None

    def hang(self) -> None:
        """Make the file where it is missing, and listen from now on. Where it cannot be made the log says so, and no more."""
        try:
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, 0o660))
        except OSError as error:
            LOG.warning("%s cannot be made (%s): nobody can ring for this agent.", self._path, error.strerror)
        self._heard = self._standing()

    def rung(self) -> bool:
        """Whether it was rung since the last time."""
        standing = self._standing()
        if standing is None or standing == self._heard:
            return False
        self._heard = standing
        return True

    def _standing(self) -> tuple[int, ...] | None:
        # A file that is opened is asked for anew, where a shared file system would tell what it remembers.
        with contextlib.suppress(OSError):
            descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            try:
                found = os.fstat(descriptor)
            finally:
                os.close(descriptor)
            return found.st_ino, found.st_mtime_ns, found.st_size
        return None


def script(bell: Path, user: int) -> str:
    """What a site puts into Slurm's Prolog and Epilog; ``user`` is whose jobs count."""
    return _SCRIPT.format(bell=shlex.quote(str(bell.absolute())), user=user)
