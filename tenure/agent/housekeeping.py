"""Forgets what ended long ago and was told: records and working folders."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from tenure.agent.script import folder_of
from tenure.agent.settings import AgentSettings
from tenure.agent.store.store import Store
from tenure.agent.telling import LOG

_DAY = 86400.0


def tidy(store: Store, settings: AgentSettings, now: float, stopping: Callable[[], bool]) -> int:
    """Remove what is older than ``[results] keep_days``; how many executions that was."""
    count = 0
    while not stopping():
        forgotten = store.forget(now - settings.results.keep_days * _DAY)
        for execution in forgotten:
            shutil.rmtree(folder_of(settings, execution.execution_id), ignore_errors=True)
        count += len(forgotten)
        if not forgotten:
            break
    if count:
        LOG.info("%d executions that had ended were forgotten, with their folders.", count)
    return count
