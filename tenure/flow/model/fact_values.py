"""What the facts of runs are made of: identities, ends, intents, each small and strict."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from tenure.flow.model.names import Name

MAX_ITEMS = 100_000
MAX_ITERATION = 1_000_000

Iteration = Annotated[int, Field(ge=1, le=MAX_ITERATION)]
Index = Annotated[int, Field(ge=0, lt=MAX_ITEMS)]
Uid = Annotated[int, Field(gt=0, lt=2**63)]
Ref = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Label = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Sentence = Annotated[str, StringConstraints(max_length=2000)]
Outcome = Literal["ok", "error", "canceled"]
Status = Literal["COMPLETED", "FAILED", "CANCELED"]
Decided = Literal["resumed", "approved", "rejected", "expired", "canceled"]


class Value(BaseModel):
    """A value that facts carry. What a later version adds is read over."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="ignore", strict=True)


class StepError(Value):
    """Why a step failed: a stable code, the kernel's error class, a sentence."""

    code: Label
    error_class: Label | None = None
    message: Sentence | None = None


class ParentLink(Value):
    """What a child run tells of its parent."""

    run: Uid
    runnable: Label
    child_key: Label


class Adopted(Value):
    """A result of another run that this one does not do again."""

    step: Name
    output: Name | None = None
    ref: Ref | None = None
    value: Any = None
    hash: Hash | None = None
    recovery: Label | None = None
    to: list[Name] = []


class Planned(Value):
    """One step, or a window of the items of a map, that is to be done. ``hash`` is that of its input."""

    step: Name
    iteration: Iteration = 1
    kind: Label
    output: Name | None = None
    hash: Hash | None = None
    deadline: Label | None = None
    recovery: Label | None = None
    compensates: bool = False
    signal: Name | None = None
    until: Label | None = None
    total: Annotated[int, Field(ge=0, le=MAX_ITEMS)] | None = None
    start: Annotated[int, Field(ge=0, le=MAX_ITEMS)] = 0
    stop: Annotated[int, Field(ge=0, le=MAX_ITEMS)] | None = None


class ItemEnd(Value):
    """How one item of a map ended."""

    index: Index
    outcome: Outcome
    ref: Ref | None = None
    hash: Hash | None = None


class Child(Value):
    """One child run."""

    run: Uid
    child_key: Label
    index: Index | None = None


class Undo(Value):
    """A step that is undone by another."""

    step: Name
    iteration: Iteration = 1
    undo: Name
