"""The state of a run: what the fold of its facts comes to, and the form in which checkpoints keep it.

It is as long as the workflow has steps, not as the run has facts: the items of a map are sets of bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import AwareDatetime, Field, ValidationError

from tenure.flow.model.facts import ParentLink
from tenure.flow.model.names import Runnable
from tenure.flow.model.state_parts import (
    Anomaly,
    Compensation,
    Done,
    End,
    Items,
    Manual,
    Output,
    Part,
    Phase,
    Resolution,
    RunStatus,
    Signal,
    StepState,
    Stop,
    Waiter,
)

#: The version of the checkpoint's form. A checkpoint of another version is not read: the facts are folded anew.
FORMAT = 1
MAX_ANOMALIES = 50
MAX_SIGNALS = 1000


class RunState(Part):
    """Everything that decisions look at. Before its first fact a run has no workflow."""

    format: int = FORMAT
    run: int
    seq: int = 0
    workflow: str = ""
    version: int = 0
    fingerprint: str = ""
    key: str | None = None
    trigger: str | None = None
    input_hash: str | None = None
    started_at: AwareDatetime | None = None
    deadline: str | None = None
    root: int | None = None
    parent: ParentLink | None = None
    replay_of: int | None = None
    retry_of: int | None = None
    steps: dict[str, StepState] = Field(default_factory=dict)
    superseded: dict[str, StepState] = Field(default_factory=dict)
    outputs: dict[str, Output] = Field(default_factory=dict)
    previous: dict[str, Output] = Field(default_factory=dict)
    done: tuple[Done, ...] = ()
    reworks: dict[str, int] = Field(default_factory=dict)
    manual: Manual | None = None
    resolved: Resolution | None = None
    signals: tuple[Signal, ...] = ()
    waiters: tuple[Waiter, ...] = ()
    children: dict[str, int] = Field(default_factory=dict)
    paused: bool = False
    pause_reason: str | None = None
    stop: Stop | None = None
    compensation: Compensation | None = None
    end: End | None = None
    anomalies: tuple[Anomaly, ...] = ()
    anomaly_count: int = 0

    @property
    def started(self) -> bool:
        """True behind the first fact."""
        return self.started_at is not None

    @property
    def status(self) -> RunStatus:
        """How the run stands; at a manual boundary it is paused, though other branches may go on."""
        if self.end is not None:
            return self.end.status
        return RunStatus.PAUSED if self.paused or self.manual is not None else RunStatus.RUNNING

    def step(self, name: str) -> StepState:
        """How a step stands; one of which nothing was told is idle."""
        return self.steps.get(name, _IDLE)

    @property
    def active(self) -> list[Runnable]:
        """The steps that are under way, those of an earlier time round included."""
        now = [Runnable(name, step.iteration) for name, step in self.steps.items() if step.active]
        return now + [Runnable(key.partition("#")[0], step.iteration) for key, step in self.superseded.items()]

    def under_way(self, runnable: Runnable) -> StepState | None:
        """The step that a runnable belongs to, if it is or was planned this time round, or is still to be stopped."""
        step = self.steps.get(runnable.step)
        if step is not None and step.iteration == runnable.iteration and step.phase not in (Phase.IDLE, Phase.REACHED):
            return step
        return self.superseded.get(str(Runnable(runnable.step, runnable.iteration)))

    def checkpoint(self) -> dict[str, Any]:
        """The state as JSON-ready data."""
        return self.model_dump(mode="json", exclude_defaults=True) | {"format": FORMAT}


_IDLE = StepState()


def from_checkpoint(data: object) -> RunState | None:
    """The state that a checkpoint holds; None for one of another form, or that cannot be read: fold the facts then."""
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        return None
    try:
        return RunState.model_validate(dict(data))
    except (ValidationError, ValueError):
        return None


__all__ = [  # the parts are found here as well
    "FORMAT",
    "MAX_ANOMALIES",
    "MAX_SIGNALS",
    "Anomaly",
    "Compensation",
    "Done",
    "End",
    "Items",
    "Manual",
    "Output",
    "Phase",
    "Resolution",
    "RunState",
    "RunStatus",
    "Signal",
    "StepState",
    "Stop",
    "Waiter",
    "from_checkpoint",
]  # fmt: skip
