"""A job as one of Slurm's sources tells of it, in one form for all of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import datetime

REVOKED = "REVOKED"
"""Another cluster of the federation has the job: beside PENDING it waits or runs there, beside an end it has ended there."""


@dataclass(frozen=True, slots=True)
class Record:
    """What was told of one job."""

    job_id: str
    name: str
    state: str
    """Slurm's word, such as ``RUNNING`` or ``OUT_OF_MEMORY``."""
    user_id: int
    comment: str = ""
    reason: str = ""
    """Slurm's word for why it waits or ended, where the source has it."""
    wait_status: int = 0
    """As ``waitpid`` gives it: the exit code in the second byte, the signal in the lowest seven bits."""
    restarts: int = 0
    partition: str | None = None
    qos: str | None = None
    nodes: str = ""
    """Empty where it never got any."""
    submitted: datetime | None = None
    started: datetime | None = None
    ended: datetime | None = None
    elsewhere: bool = False
    """Whether another cluster of the federation had it: then it has no node here, however it ended."""

    @property
    def ours(self) -> bool:
        """Whether we submitted it: another user's job may bear any name and any comment."""
        return self.user_id == os.geteuid()

    @property
    def refused(self) -> bool:
        """Whether it is what a refused ``sbatch`` leaves behind (FAILED, BadConstraints, no node): not a job."""
        return self.state == "FAILED" and not self.nodes and not self.elsewhere

    def answers_to(self, key: str) -> bool:
        """Whether it was submitted under this key. A site's plugin or a person may have changed one of the two."""
        return self.ours and key in (self.name, self.comment)


def wait_status(code: str) -> int:
    """The wait status behind ``code:signal``, as text sources write it."""
    exit_code, _, by_signal = code.partition(":")
    return (int(exit_code) << 8 | int(by_signal or 0)) if exit_code.isdigit() else 0
