"""The section ``[aiida]`` of ``agent.toml``."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


class AiidaSettings(BaseModel):
    """Which profile and which of its computers take the node's executions."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")

    computer: str
    """The label of a computer with the scheduler ``tenure.slurm`` or ``tenure.direct``, reached by ``core.local``; Slurm's by
    ``core.ssh``, too.
    """
    profile: str | None = None
    """By default AiiDA's default profile."""
    config_folder: Path | None = None
    """The folder that holds ``.aiida`` (``AIIDA_PATH``); by default AiiDA's own rule."""
    start_daemon: bool = True
    """Whether the agent starts AiiDA's daemon where it does not run. Off: somebody else does (a unit of its own)."""
    workers: int = Field(default=1, ge=1, le=64)
    """With how many workers it is started."""
    answer_seconds: float = Field(default=10.0, gt=0, le=300)
    """How long the daemon may take to answer."""
    again_seconds: float = Field(default=30.0, gt=0, le=3600)
    """After how long a process that no worker has begun is handed to the daemon again; each time after twice as long."""
