"""Agents that are killed while they submit: ``python dying_agent.py CONFIG_FOLDER PROFILE POINT<tab>KEY<tab>FOLDER...``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from aiida.engine.persistence import AiiDAPersister
from plumpy.process_comms import RemoteProcessThreadController

from tenure.agent.aiida import submission  # noqa: F401 - with it, all that is needed of AiiDA
from tenure.agent.aiida.adapter import AiidaScheduler
from tenure.agent.aiida.settings import AiidaSettings
from tenure.agent.scheduler import JobSpec
from tenure.remote.model.contracts import Placement
from tenure.remote.model.fields import ResourceShape
from tests.hpc.with_aiida.bench import POINTS


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(config: str, profile: str, key: str, folder: str, point: str) -> None:
    scheduler = AiidaScheduler(AiidaSettings(computer="cluster", config_folder=Path(config), profile=profile))
    scheduler.open()
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


if __name__ == "__main__":
    # What is imported is shared: AiiDA takes seconds for that. Each agent is a process of its own, which is killed.
    config, profile, *lines = sys.argv[1:]
    agents = {}
    for line in lines:
        point, key, folder = line.split("\t")
        if (agent := os.fork()) == 0:
            main(config, profile, key, folder, point)
            os._exit(0)
        agents[agent] = point
    ends = {agents[agent]: os.waitpid(agent, 0)[1] for agent in agents}
    if set(ends.values()) != {signal.SIGKILL}:
        sys.exit(f"They were to be killed: {ends}")
