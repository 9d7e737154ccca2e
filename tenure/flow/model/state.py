"""The state of a run: what the fold of its facts comes to, and the form in which checkpoints keep it.

It is as long as the workflow has steps, not as the run has facts: the items of a map are sets of bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from tenure.flow.model.bits import Bits
from tenure.flow.model.facts import ParentLink, StepError, Undo
from tenure.flow.model.names import Runnable

#: The version of the checkpoint's form. A checkpoint of another version is not read: the facts are folded anew.
FORMAT = 1
MAX_ANOMALIES = 50
MAX_SIGNALS = 1000


class RunStatus(StrEnum):
    """How a run stands, in the words of its row."""

    RUNNING = "RUNNING"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"


class Phase(StrEnum):
    """How a step stands, this time round."""

    IDLE = "idle"
    REACHED = "reached"
    ACTIVE = "active"
    OPEN = "open"
    OK = "ok"
    ERROR = "error"
    CANCELED = "canceled"


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Anomaly(_Part):
    """A fact that does not fit what came before; it changed nothing else."""

    seq: int
    type: str
    reason: str


class Items(_Part):
    """The items of a map: how many there are, how many are planned, how they ended."""

    total: int
    planned: int = 0
    ok: Bits = 0
    error: Bits = 0
    canceled: Bits = 0

    @property
    def ended(self) -> int:
        """The set of items that have ended."""
        return self.ok | self.error | self.canceled

    @property
    def open(self) -> int:
        """How many are planned and have not ended."""
        return self.planned - self.ended.bit_count()


class StepState(_Part):
    """One step, this time round."""

    iteration: int = 1
    phase: Phase = Phase.IDLE
    kind: str = ""
    output: str | None = None
    hash: str | None = None
    planned_at: AwareDatetime | None = None
    ended_at: AwareDatetime | None = None
    deadline: str | None = None
    late: bool = False
    recovery: str | None = None
    signal: str | None = None
    until: str | None = None
    child: int | None = None
    child_key: str | None = None
    items: Items | None = None
    ref: str | None = None
    result_hash: str | None = None
    error: StepError | None = None
    routes: tuple[int, ...] = ()
    to: tuple[str, ...] = ()
    compensates: bool = False
    plan_seq: int = 0
    kept: int = 0

    @property
    def active(self) -> bool:
        """True while it is under way."""
        return self.phase in (Phase.ACTIVE, Phase.OPEN)

    @property
    def ended(self) -> bool:
        """True once it has come to its end, this time round."""
        return self.phase in (Phase.OK, Phase.ERROR, Phase.CANCELED)


class Output(_Part):
    """Where the result under an output key is, or the result itself where a fact holds it."""

    step: str
    iteration: int = 1
    ref: str | None = None
    value: Any = None


class Done(_Part):
    """A step with a recovery policy that succeeded, or of which it is unknown: what compensation and replay ask for."""

    step: str
    iteration: int
    recovery: str
    ok: bool
    output: Output | None = None


class Manual(_Part):
    """The manual boundary at which the run stands (S3)."""

    step: str
    iteration: int
    kind: str
    since: AwareDatetime
    deadline: str | None = None


class Resolution(_Part):
    """The last manual boundary that was resolved, by whom and how."""

    step: str
    iteration: int
    decision: str
    actor: str
    at: AwareDatetime
    comment: str | None = None


class Signal(_Part):
    """A signal that waits to be taken; ``seq`` is that of its fact."""

    seq: int
    name: str
    signal_key: str | None = None
    ref: str | None = None
    hash: str | None = None


class Waiter(_Part):
    """A runnable whose code waits for a signal."""

    runnable: str
    name: str


class Stop(_Part):
    """Why the run comes to a stop: a failure or a request, at which step, by whom."""

    status: RunStatus
    code: str
    actor: str
    at: AwareDatetime
    step: str | None = None
    message: str | None = None


class Compensation(_Part):
    """What is undone, in order, and how many of it are."""

    cause: str
    steps: tuple[Undo, ...] = ()
    done: int = 0
    failed: bool = False


class End(_Part):
    """How the run ended."""

    status: RunStatus
    at: AwareDatetime
    code: str | None = None
    step: str | None = None
    message: str | None = None
    output_hash: str | None = None


class RunState(_Part):
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
