"""The ``local`` adapter: jobs are processes of this machine, which outlive the agent (design 04, Adapter boundary)."""

from __future__ import annotations

from tenure.agent.local.scheduler import LocalScheduler
from tenure.agent.scheduler import Scheduler
from tenure.agent.settings import AgentSettings


def open_scheduler(settings: AgentSettings) -> Scheduler:
    """The adapter for these settings; the agent calls ``open`` on it."""
    return LocalScheduler(settings.folder / "local", settings.local)
