"""Agents that are killed while they submit, one after the other on the same settings: ``python dying_agent.py AGENT_TOML``."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from aiida.engine.persistence import AiiDAPersister
from plumpy.process_comms import RemoteProcessThreadController

from tenure.agent.agent import Agent, run_until_signal
from tenure.agent.aiida import submission  # noqa: F401 - with it, all that is needed of AiiDA
from tenure.agent.aiida.adapter import AiidaScheduler
from tenure.agent.settings import load_settings
from tenure.sdk.http.address import Address
from tests.hpc.with_aiida.bench import POINTS


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(point: str) -> None:
    """See to it that whoever comes to this point is killed there."""
    if point == "process stored":
        AiiDAPersister.save_checkpoint = die
    elif point == "checkpoint stored":
        RemoteProcessThreadController.continue_process = die
    elif point == "task sent":
        send = RemoteProcessThreadController.continue_process
        RemoteProcessThreadController.continue_process = lambda *a, **k: (send(*a, **k), die())
    else:
        submit = AiidaScheduler.submit
        AiidaScheduler.submit = lambda *a: (submit(*a), die())


def main(config: Path) -> None:
    settings = load_settings(config)
    assert settings.url is not None
    run_until_signal(Agent(settings, Address(settings.url, os.environ["TENURE_TOKEN"]), AiidaScheduler.of(settings)))


if __name__ == "__main__":
    # What is imported is shared: AiiDA takes seconds for that. Each agent is a process of its own, which is killed.
    for point in POINTS:
        if (agent := os.fork()) == 0:
            arm(point)
            main(Path(sys.argv[1]))
            os._exit(0)
        _, status = os.waitpid(agent, 0)
        if status != signal.SIGKILL:
            sys.exit(f"It was to be killed where it had its {point}: {status}")
