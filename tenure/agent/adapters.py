"""Finds the adapter of a kind of scheduler. What it needs is imported only where it is used."""

from __future__ import annotations

from importlib import import_module
from typing import cast

from tenure.agent.errors import AdapterMissing
from tenure.agent.scheduler import Scheduler
from tenure.agent.settings import AgentSettings


def scheduler_for(settings: AgentSettings) -> Scheduler:
    """The adapter, not opened yet. Raises AdapterMissing, InvalidSettings."""
    try:
        module = import_module(f"tenure.agent.{settings.kind}")
        return cast(Scheduler, module.open_scheduler(settings))
    except ImportError as error:
        raise AdapterMissing(
            f"The adapter for {settings.kind} cannot be used: {error}.",
            f"Install what it needs: pip install 'tenure[{settings.kind}]'.",
        ) from None
