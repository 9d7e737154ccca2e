"""What the state of a run is made of: steps, outputs, boundaries, signals, why it stops and how it ended."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict

from tenure.flow.model.bits import Bits
from tenure.flow.model.facts import StepError, Undo


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


class Part(BaseModel):
    """A part of the state: immutable, and nothing that it does not know."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")


class Anomaly(Part):
    """A fact that does not fit what came before; it changed nothing else."""

    seq: int
    type: str
    reason: str


class Items(Part):
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


class StepState(Part):
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


class Output(Part):
    """Where the result under an output key is, or the result itself where a fact holds it."""

    step: str
    iteration: int = 1
    ref: str | None = None
    value: Any = None


class Done(Part):
    """A step with a recovery policy that succeeded, or of which it is unknown: what compensation and replay ask for."""

    step: str
    iteration: int
    recovery: str
    ok: bool
    output: Output | None = None


class Manual(Part):
    """The manual boundary at which the run stands (S3)."""

    step: str
    iteration: int
    kind: str
    since: AwareDatetime
    deadline: str | None = None


class Resolution(Part):
    """The last manual boundary that was resolved, by whom and how."""

    step: str
    iteration: int
    decision: str
    actor: str
    at: AwareDatetime
    comment: str | None = None


class Signal(Part):
    """A signal that waits to be taken; ``seq`` is that of its fact."""

    seq: int
    name: str
    signal_key: str | None = None
    ref: str | None = None
    hash: str | None = None


class Waiter(Part):
    """A runnable whose code waits for a signal."""

    runnable: str
    name: str


class Stop(Part):
    """Why the run comes to a stop: a failure or a request, at which step, by whom."""

    status: RunStatus
    code: str
    actor: str
    at: AwareDatetime
    step: str | None = None
    message: str | None = None


class Compensation(Part):
    """What is undone, in order, and how many of it are."""

    cause: str
    steps: tuple[Undo, ...] = ()
    done: int = 0
    failed: bool = False


class End(Part):
    """How the run ended."""

    status: RunStatus
    at: AwareDatetime
    code: str | None = None
    step: str | None = None
    message: str | None = None
    output_hash: str | None = None
