"""A server that keeps the contract, and agents on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tenure.agent.agent import Agent
from tenure.agent.local.scheduler import LocalScheduler
from tenure.agent.scheduler import Scheduler
from tenure.agent.settings import AgentSettings, load_settings
from tenure.sdk.http.address import Address
from tests.agent.border import TOKEN, Border

RunAgent = Callable[..., AbstractContextManager[Agent]]


@pytest.fixture
def border() -> Iterator[Border]:
    border = Border()
    yield border
    border.close()


def settings_for(folder: Path, url: str, **besides: Any) -> AgentSettings:
    """Settings with which nothing takes long."""
    values: dict[str, Any] = {
        "node": "node-1", "kind": "local", "url": url, "state_folder": folder / "state", "poll_seconds": 2.0,
        "watch": {"fastest_seconds": 0.05, "slowest_seconds": 1.0},
        "delivery": {"first_delay_seconds": 0.05, "slowest_seconds": 0.5, "answer_seconds": 5.0},
        "local": {"cpu": 8, "grace_seconds": 1.0},
    }  # fmt: skip
    return load_settings(**{**values, **besides})


@pytest.fixture
def settings(tmp_path: Path, border: Border) -> AgentSettings:
    return settings_for(tmp_path, border.url)


@pytest.fixture
def running(settings: AgentSettings) -> RunAgent:
    """Runs an agent in a thread for the length of a block."""

    @contextmanager
    def run(
        settings: AgentSettings = settings, scheduler: Scheduler | None = None, token: str = TOKEN, **address: Any
    ) -> Iterator[Agent]:
        assert settings.url is not None
        agent = Agent(
            settings, Address(settings.url, token, **address),
            scheduler or LocalScheduler(settings.folder / "local", settings.local),
        )  # fmt: skip
        trouble: list[BaseException] = []

        def work() -> None:
            try:
                agent.run()
            except BaseException as error:
                trouble.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        agent.ended = thread  # type: ignore[attr-defined]
        agent.trouble_seen = trouble  # type: ignore[attr-defined]
        try:
            yield agent
        finally:
            agent.stop()
            thread.join(30)
            assert not thread.is_alive(), "the agent does not stop"

    return run
