"""The facts of a run: what each type carries, read and written by the same models (decision 0010).

Data stay in the data tier: a fact carries hashes and references. A reference is text, ``record:12`` (the result of an
attempt), ``run:7`` (the output of a child run), ``signal:3``, or ``map:STEP#2`` (the results of a map's items).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, Field

from tenure.flow.model.fact_values import (
    MAX_ITEMS,
    MAX_ITERATION,
    Adopted,
    Child,
    Decided,
    Hash,
    Index,
    ItemEnd,
    Iteration,
    Label,
    Outcome,
    ParentLink,
    Planned,
    Ref,
    Sentence,
    Status,
    StepError,
    Uid,
    Undo,
    Value,
)
from tenure.flow.model.names import Name
from tenure.model.fact import MAX_DATA_BYTES, check_data

#: What is no longer than this as compact JSON fits into a fact, whose canonical JSON has a blank behind each mark.
_SURELY_FITS = MAX_DATA_BYTES * 3 // 4
#: Room that a fact keeps for what is beside its list.
_ROOM = 1024


@dataclass(frozen=True, slots=True)
class RunDraft:
    """A fact of a run as a decision asks for it; seq, time, actor and hash come when it is appended."""

    type: str
    data: Mapping[str, Any]
    idempotency_key: str | None = None
    payload_hash: bytes | None = None


_V = TypeVar("_V", bound=Value)


class RunFact(Value):
    """The data of one fact of a run. What a later version adds is read over."""

    TYPE: ClassVar[str]
    ACTION: ClassVar[str]

    def draft(self, idempotency_key: str | None = None, payload_hash: bytes | None = None) -> RunDraft:
        """The fact to append; what a fact may not carry raises ``ForbiddenKey`` or ``PayloadTooLarge``."""
        data = self.model_dump(mode="json", exclude_defaults=True)
        if size_of(self) > _SURELY_FITS:
            check_data(data)
        return RunDraft(self.TYPE, data, idempotency_key, payload_hash)

    @property
    def fits(self) -> bool:
        """Whether a fact may carry so much."""
        return size_of(self) <= _SURELY_FITS


class _AtStep(RunFact):
    step: Name
    iteration: Iteration = 1


class _Transition(_AtStep):
    """The decision about what follows a step, kept with its end: routes taken, where they lead, what is done again."""

    routes: list[int] = Field(default_factory=list)
    to: list[Name] = Field(default_factory=list)
    rework: Label | None = None
    reset: list[Name] = Field(default_factory=list)


class RunStarted(RunFact):
    """The first fact of a run."""

    TYPE = "run.started"
    ACTION = "start_run"

    workflow: Label
    version: Annotated[int, Field(ge=1)]
    fingerprint: Hash
    input_hash: Hash
    key: Label | None = None
    trigger: Label | None = None
    deadline: Label | None = None
    root: Uid | None = None
    parent: ParentLink | None = None
    replay_of: Uid | None = None
    retry_of: Uid | None = None
    reason: Sentence | None = None


class ResultsAdopted(RunFact):
    """A run that retries another keeps what that one did."""

    TYPE = "run.results_adopted"
    ACTION = "retry_run"

    results: list[Adopted]


class RunnablesPlanned(RunFact):
    """Intent: these are to be done. Each becomes a subject, a child run or a timer."""

    TYPE = "run.runnables_planned"
    ACTION = "plan_runnables"

    runnables: list[Planned]


class RunnableApplied(_Transition):
    """A step came to its end, or (``items``) some items of a map did."""

    TYPE = "run.runnable_applied"
    ACTION = "apply_runnable"

    outcome: Outcome | None = None
    ref: Ref | None = None
    value: Any = None
    hash: Hash | None = None
    error: StepError | None = None
    signal: Annotated[int, Field(ge=1)] | None = None
    late: bool = False
    untouched: bool = False
    items: list[ItemEnd] = Field(default_factory=list)


class RouteFollowed(RunFact):
    """What did not fit into the fact that tells of a step's end: more that is done again, more that its routes lead to."""

    TYPE = "run.route_followed"
    ACTION = "apply_runnable"

    rework: Label | None = None
    reset: list[Name] = Field(default_factory=list)
    to: list[Name] = Field(default_factory=list)


class StepLogged(_Transition):
    """A log step wrote its line."""

    TYPE = "run.step_logged"
    ACTION = "log_step"

    level: Label
    message: Sentence


class StepPaused(_AtStep):
    """The run stands at a manual boundary (S3, Manual Boundaries)."""

    TYPE = "run.step_paused"
    ACTION = "pause_step"

    kind: Literal["pause", "approval"]
    output: Name | None = None
    deadline: Label | None = None


class StepResolved(_Transition):
    """The boundary was resolved; who and when are the fact's own."""

    TYPE = "run.step_resolved"
    ACTION = "resolve_step"

    decision: Decided
    comment: Sentence | None = None


class DeadlinePassed(_AtStep):
    """A step took too long; it has failed once its work has been stopped."""

    TYPE = "run.deadline_passed"
    ACTION = "expire_step"


class StepStuck(_AtStep):
    """The work of a step gave up, and waits for an operator to requeue it."""

    TYPE = "run.step_stuck"
    ACTION = "apply_runnable"

    error: StepError


class SignalReceived(RunFact):
    """A signal came in; it waits until a step takes it."""

    TYPE = "run.signal_received"
    ACTION = "signal_run"

    name: Name
    signal_key: Label | None = None
    ref: Ref | None = None
    hash: Hash | None = None


class SignalTaken(RunFact):
    """A runnable that waited in its code took a signal."""

    TYPE = "run.signal_taken"
    ACTION = "take_signal"

    runnable: Label
    signal: Annotated[int, Field(ge=1)]


class SignalAwaited(RunFact):
    """A runnable waits in its code for a signal, and is to be woken by it."""

    TYPE = "run.signal_awaited"
    ACTION = "await_signal"

    runnable: Label
    name: Name


class ChildStarted(_AtStep):
    """Child runs were started by a step, or by the code of one (``origin``: its runnable)."""

    TYPE = "run.child_started"
    ACTION = "start_child_run"

    workflow: Label
    version: Annotated[int, Field(ge=1)] | None = None
    origin: Label | None = None
    hash: Hash | None = None
    children: Annotated[list[Child], Field(min_length=1)]


class RunPaused(RunFact):
    """Nothing more is planned until the run is resumed; what is under way goes on."""

    TYPE = "run.paused"
    ACTION = "pause_run"

    reason: Sentence | None = None


class RunResumed(RunFact):
    """The run goes on."""

    TYPE = "run.resumed"
    ACTION = "resume_run"

    reason: Sentence | None = None


class CancelRequested(RunFact):
    """The run is to stop: what is under way is canceled, what was done is undone where it can be."""

    TYPE = "run.cancel_requested"
    ACTION = "cancel_run"

    reason: Sentence | None = None


class FailureNoted(RunFact):
    """The run cannot succeed any more; ``step`` is where it failed."""

    TYPE = "run.failure_noted"
    ACTION = "fail_run"

    code: Label
    step: Name | None = None
    iteration: Iteration = 1
    message: Sentence | None = None


class CompensationPlanned(RunFact):
    """What is undone, in this order: the last that was done first."""

    TYPE = "run.compensation_planned"
    ACTION = "plan_compensation"

    cause: Label
    steps: list[Undo]


class RunMigrated(RunFact):
    """The run goes on under another version of its workflow."""

    TYPE = "run.migrated"
    ACTION = "migrate_run"

    before: Annotated[int, Field(ge=1)]
    version: Annotated[int, Field(ge=1)]
    fingerprint: Hash
    reason: Sentence | None = None


class StepKept(RunFact):
    """Code inside a task did a step of its own; its result is kept and not worked out again."""

    TYPE = "run.step_kept"
    ACTION = "keep_step"

    runnable: Label
    name: Label
    hash: Hash | None = None
    ref: Ref | None = None


class RunTerminal(RunFact):
    """The end. Nothing is appended behind it."""

    TYPE = "run.terminal"
    ACTION = "end_run"

    status: Status
    code: Label | None = None
    step: Name | None = None
    message: Sentence | None = None
    output_hash: Hash | None = None
    irreversible: list[Name] = Field(default_factory=list)


TYPES: dict[str, type[RunFact]] = {
    model.TYPE: model
    for model in (
        RunStarted, ResultsAdopted, RunnablesPlanned, RunnableApplied, RouteFollowed, StepLogged, StepPaused, StepResolved,
        DeadlinePassed, StepStuck, SignalReceived, SignalTaken, SignalAwaited, ChildStarted, RunPaused, RunResumed, CancelRequested,
        FailureNoted, CompensationPlanned, RunMigrated, StepKept, RunTerminal,
    )
}  # fmt: skip
"""The fact types of a run; ``ACTION`` is the action key that appends each."""


def size_of(value: BaseModel) -> int:
    """The length of a value as compact JSON, in bytes."""
    return len(value.__pydantic_serializer__.to_json(value, exclude_defaults=True))


def in_portions(values: Sequence[_V]) -> Iterator[list[_V]]:
    """``values`` in lists that each fit into one fact."""
    portion: list[_V] = []
    size = 0
    for value in values:
        length = size_of(value) + 1
        if portion and size + length > _SURELY_FITS - _ROOM:
            yield portion
            portion, size = [], 0
        portion.append(value)
        size += length
    if portion:
        yield portion


__all__ = [  # what facts are made of is found here as well
    "MAX_ITEMS", "MAX_ITERATION", "TYPES", "Adopted", "CancelRequested", "Child", "ChildStarted", "CompensationPlanned",
    "DeadlinePassed", "Decided", "FailureNoted", "Hash", "Index", "ItemEnd", "Iteration", "Label", "Outcome", "ParentLink",
    "Planned", "Ref", "ResultsAdopted", "RouteFollowed", "RunDraft", "RunFact", "RunMigrated", "RunPaused", "RunResumed",
    "RunStarted", "RunTerminal", "RunnableApplied", "RunnablesPlanned", "Sentence", "SignalAwaited", "SignalReceived",
    "SignalTaken", "Status", "StepError", "StepKept", "StepLogged", "StepPaused", "StepResolved", "StepStuck", "Uid", "Undo",
    "Value", "in_portions", "size_of",
]  # fmt: skip
