"""What ``Cluster.status`` answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class State(StrEnum):
    """Where the server is in its life. ``ABSENT`` means that no data folder was made yet."""

    ABSENT = "absent"
    STOPPED = "stopped"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class Status:
    """A snapshot of the embedded server.

    ``pid`` and ``dsn`` are None unless a server process lives (``dsn``: unless it is ready). ``note`` says why data is
    kept elsewhere than in the folder that was asked for; it is empty where data is where one expects it.
    """

    state: State
    pgdata: Path
    log: Path
    pid: int | None = None
    dsn: str | None = None
    major: int | None = None
    note: str = ""
