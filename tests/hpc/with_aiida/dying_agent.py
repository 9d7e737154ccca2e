"""An agent that is killed while it submits: ``python dying_agent.py CONFIG_FOLDER PROFILE KEY FOLDER POINT``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from tenure.agent.aiida.adapter import AiidaScheduler
from tenure.agent.aiida.settings import AiidaSettings
from tenure.agent.scheduler import JobSpec
from tenure.remote.model.contracts import Placement
from tenure.remote.model.fields import ResourceShape

POINTS = ("process stored", "checkpoint stored", "task sent", "submission returned")


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(config: str, profile: str, key: str, folder: str, point: str) -> None:
    scheduler = AiidaScheduler(AiidaSettings(computer="cluster", config_folder=Path(config), profile=profile))
    scheduler.open()
    from aiida.engine.persistence import AiiDAPersister
    from plumpy.process_comms import RemoteProcessThreadController

    if point == "process stored":
        AiiDAPersister.save_checkpoint = die
    elif point == "checkpoint stored":
        RemoteProcessThreadController.continue_process = die
    elif point == "task sent":
        send = RemoteProcessThreadController.continue_process
        RemoteProcessThreadController.continue_process = lambda *a, **k: (send(*a, **k), die())
    job = JobSpec(
        key, Path(folder) / "script", Path(folder), Placement(partition="normal"),
        ResourceShape(cpu=1, memory_mib=64, walltime_seconds=300), {},
    )  # fmt: skip
    scheduler.submit(job)
    if point == POINTS[-1]:
        die()
    sys.exit(f"It was to die when: {point}")


if __name__ == "__main__":
    main(*sys.argv[1:])
