"""The ``aiida`` adapter: an execution is a CalcJob of AiiDA, on Slurm or on this machine (design 04, AiiDA).

AiiDA is an extra (``tenure[aiida]``) and only imported where the adapter is opened, in a thread of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tenure.agent.scheduler import Scheduler
    from tenure.agent.settings import AgentSettings


def open_scheduler(settings: AgentSettings) -> Scheduler:
    """The adapter for these settings; the agent calls ``open`` on it. Raises InvalidSettings, AdapterMissing."""
    from tenure.agent.aiida.adapter import AiidaScheduler  # noqa: PLC0415 - whoever imports the package needs no AiiDA

    return AiidaScheduler.of(settings)
