"""``agent.toml``: what a node's agent is told (docs/reference/agent-settings.md)."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, field_validator

from tenure.agent.errors import InvalidSettings
from tenure.remote.model.fields import Id

STATE_FOLDERS = Path("/var/lib/tenure-agent")
_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")

S = TypeVar("S", bound=BaseModel)
Seconds = Annotated[float, Field(gt=0, le=86400)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=10_000, pattern=r"^[^\x00]+$")]


class Kind(StrEnum):
    """Which scheduler the node has."""

    LOCAL = "local"
    SLURM = "slurm"
    AIIDA = "aiida"


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")


class RunnerSettings(_Section):
    """How a submission becomes a script."""

    command: Text | None = None
    """A line of shell that is run for each submission; by default the input itself is run."""
    inputs: tuple[Text, ...] = ()
    """Where inputs may come from: prefixes of URIs. Nothing listed: from anywhere."""
    max_input_mib: int = Field(default=1024, ge=1)
    fetch_seconds: Seconds = 600.0
    """For how long an input may be on its way, all tries together, before the execution fails."""
    environment: dict[str, str] = Field(default_factory=dict)

    @field_validator("inputs")
    @classmethod
    def _prefixes(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        for prefix in given:
            urlsplit(prefix)  # raises ValueError
        return given

    @field_validator("environment")
    @classmethod
    def _names(cls, given: dict[str, str]) -> dict[str, str]:
        for name, value in given.items():
            if not _NAME.match(name):
                raise ValueError(f"{name!r} is no name of a variable")
            if name.startswith("TENURE_"):
                raise ValueError(f"{name} is one of the agent's own")
            if "\x00" in value:
                raise ValueError(f"{name} holds a NUL")
        return given


class ResultSettings(_Section):
    """Where results go, and how long the node keeps its own copy."""

    store: Text | None = None
    """A folder or an fsspec URI; by default the folder ``results`` of the state folder."""
    buckets: dict[str, Text] = Field(default_factory=dict)
    """What ``payload_ref.artifact_bucket`` may name, and the store behind each name."""
    max_mib: int | None = Field(default=None, ge=1)
    keep_days: float = Field(default=14.0, ge=0)
    """How long the working folder and the record of an execution stay after its end was reported."""


class LimitSettings(_Section):
    """The most that one execution may ask for here, besides what the server's policy says."""

    cpu: int | None = Field(default=None, ge=1)
    memory_mib: int | None = Field(default=None, ge=1)
    walltime_seconds: int | None = Field(default=None, ge=1)


class WatchSettings(_Section):
    """How often the scheduler is asked, and when a person is told."""

    fastest_seconds: Seconds = 2.0
    slowest_seconds: Seconds = 60.0
    bell: Path | None = None
    """The file that a site's Prolog and Epilog ring with; by default ``bell`` in the state folder."""
    rung_seconds: Seconds = 2.0
    """The shortest time between two questions after it was rung."""
    alert_after_seconds: Seconds = 600.0
    """How long a job may be unknown to its scheduler before the log and ``tenure agent status`` call for a person."""


class DeliverySettings(_Section):
    """How events are sent."""

    first_delay_seconds: Seconds = 0.5
    slowest_seconds: Seconds = 60.0
    answer_seconds: Seconds = 30.0
    at_once: int = Field(default=4, ge=1, le=32)
    """How many executions' events may be on the way at the same time."""


class LocalSettings(_Section):
    """The ``local`` adapter: jobs as processes of this machine."""

    cpu: int | None = Field(default=None, ge=1)
    """How many cores its jobs share; by default all."""
    memory_mib: int | None = Field(default=None, ge=1)
    """How much memory its jobs share; by default all."""
    grace_seconds: Seconds = 10.0
    """How long a job has between TERM and KILL."""


class AgentSettings(_Section):
    """All of it. Adapters read their own section: ``slurm`` and ``aiida`` are checked by theirs."""

    node: Id
    kind: Kind
    url: str | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    """Whom to trust besides the system's authorities, for a server with a certificate of your own."""
    state_folder: Path | None = None
    max_executions: int = Field(default=500, ge=1, le=5000)
    poll_seconds: float = Field(default=30.0, ge=0, le=60)
    """How long one question for work may wait at the server."""
    runner: RunnerSettings = Field(default_factory=RunnerSettings)
    results: ResultSettings = Field(default_factory=ResultSettings)
    limits: LimitSettings = Field(default_factory=LimitSettings)
    watch: WatchSettings = Field(default_factory=WatchSettings)
    delivery: DeliverySettings = Field(default_factory=DeliverySettings)
    local: LocalSettings = Field(default_factory=LocalSettings)
    slurm: dict[str, Any] = Field(default_factory=dict)
    aiida: dict[str, Any] = Field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The state folder: all that this agent keeps."""
        return self.state_folder or STATE_FOLDERS / quote(self.node, safe="")

    @property
    def work_folder(self) -> Path:
        """Where each execution has a folder of its own."""
        return self.folder / "work"

    @property
    def bell(self) -> Path:
        """The file that rings."""
        return self.watch.bell or self.folder / "bell"

    @property
    def result_store(self) -> str:
        """The store for results that name no bucket."""
        return self.results.store or str(self.folder / "results")


def load_settings(path: Path | None = None, **given: Any) -> AgentSettings:
    """The settings of a file, with what the command line gives instead (None: nothing). Raises InvalidSettings."""
    values: dict[str, Any] = _read(path) if path is not None else {}
    values |= {name: value for name, value in given.items() if value is not None}
    values.setdefault("url", os.environ.get("TENURE_URL"))
    return checked(AgentSettings, values, str(path) if path is not None else "the command line")


def checked(model: type[S], values: Mapping[str, Any], where: str, section: str = "") -> S:
    """The values of one section as its model has them. Raises InvalidSettings, which names each wrong one."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        prefix = f"{section}." if section else ""
        wrong = [f"{prefix}{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()]
        raise InvalidSettings(
            f"The settings in {where} cannot be used: {'; '.join(wrong)}.",
            "Correct them; docs/reference/agent-settings.md has them all.",
        ) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidSettings(f"{path} cannot be read: {error.strerror}.", "Check its path and its mode.") from None
    except UnicodeDecodeError:
        raise InvalidSettings(f"{path} is not UTF-8 text.", "Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidSettings(f"{path} is no TOML: {error}.", "Correct the line.") from None
