"""The adapter for Slurm (design 04): its command-line programs, as they are on every cluster, and nothing else.

Seen working with 22.05 and 24.11, with and without accounting, and with a federation of two clusters. What each module knows:

``command``      how a program of Slurm is run: clean environment, time limit, limit of output
``submission``   ``sbatch``, so that a job is there once whatever is killed when
``refusals``     what ``sbatch`` says when it will not
``squeue_json``  ``squeue --json``; ``completions`` the file of ``jobcomp/filetxt``; ``accounting`` ``sacct``
``known_keys``   the keys of jobs by their numbers, as far as they are remembered
``states``       what Slurm's states and reasons mean for an execution
``scheduler``    the adapter itself
"""

from __future__ import annotations

from tenure.agent.scheduler import Scheduler
from tenure.agent.settings import AgentSettings, checked
from tenure.agent.slurm.scheduler import SlurmScheduler
from tenure.agent.slurm.settings import SlurmSettings

__all__ = ["SlurmScheduler", "SlurmSettings", "open_scheduler"]


def open_scheduler(settings: AgentSettings) -> Scheduler:
    """The adapter for these settings; the agent calls ``open`` on it. Raises InvalidSettings."""
    return SlurmScheduler(checked(SlurmSettings, settings.slurm, "agent.toml", "slurm"))
