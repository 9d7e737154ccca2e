"""Agents that are killed while they submit, one after the other on the same settings: ``python dying_agent.py AGENT_TOML``.

The first one dies before the first thing that a submission leaves for others to see (a commit to AiiDA's database, the task to
its daemon), the next one before the second, and so on; the last one when all is left and nobody was told. Prints their number.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from pathlib import Path
from typing import Any

from plumpy.process_comms import RemoteProcessThreadController
from sqlalchemy import event
from sqlalchemy.engine import Engine

from tenure.agent.agent import Agent, run_until_signal
from tenure.agent.aiida import submission  # noqa: F401 - with it, all that is needed of AiiDA
from tenure.agent.aiida.adapter import AiidaScheduler
from tenure.agent.settings import load_settings
from tenure.sdk.http.address import Address

_ALL_WAS_LEFT = 17


class Doom:
    """Lets a submission leave so many things behind, then kills."""

    def __init__(self, things: int) -> None:
        self.left: int | None = None
        self.things = things

    def arm(self) -> None:
        submit, send = AiidaScheduler._submit, RemoteProcessThreadController.continue_process

        def submits(*given: Any) -> None:
            self.left = self.things
            submit(*given)
            os._exit(_ALL_WAS_LEFT)

        def sends(*given: Any, **named: Any) -> Any:
            self.leaves()
            return send(*given, **named)

        AiidaScheduler._submit = submits  # type: ignore[method-assign,assignment]
        RemoteProcessThreadController.continue_process = sends
        event.listen(Engine, "commit", self.leaves)

    def leaves(self, *_: object) -> None:
        if self.left is None:
            return
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1


def live(config: Path) -> None:
    settings = load_settings(config)
    assert settings.url is not None
    run_until_signal(Agent(settings, Address(settings.url, os.environ["TENURE_TOKEN"]), AiidaScheduler.of(settings)))


def main(config: Path) -> None:
    # What is imported is shared: AiiDA takes seconds for that. Each agent is a process of its own, which dies.
    for things in itertools.count():
        if (agent := os.fork()) == 0:
            Doom(things).arm()
            live(config)
            os._exit(0)
        _, status = os.waitpid(agent, 0)
        if os.waitstatus_to_exitcode(status) == _ALL_WAS_LEFT:
            print(things + 1)
            return
        if status != signal.SIGKILL:
            sys.exit(f"It was to be killed after it had left {things} things behind: {status}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
