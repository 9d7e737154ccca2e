"""Workflow definitions as data: from Python, TOML or JSON the same model, and its fingerprint (design 02, Model)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from tenure.flow.model.names import Frozen, Name, Seconds, WorkflowName
from tenure.flow.model.routes import Conditions
from tenure.flow.model.steps import Step
from tenure.model.json_text import canonical_json
from tenure.model.queue import Key

MAX_STEPS = 1000


class Trigger(Frozen):
    """What starts a run: somebody (``manual``), an event of some type, or a schedule.

    ``input`` maps the event (``$.event``) to the input of the run; without it the event's payload is the input.
    """

    name: Name
    kind: Literal["manual", "event", "schedule"] = "manual"
    event: Key | None = None
    when: Conditions = ()
    cron: Annotated[str, StringConstraints(pattern=r"^\S+( \S+){4,5}$", max_length=200)] | None = None
    at: Annotated[str, StringConstraints(min_length=1, max_length=64)] | None = None
    timezone: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_+/-]{1,64}$")] = "UTC"
    missed: Literal["skip", "once", "catch_up"] = "once"
    input: Any = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Trigger:
        if (self.kind == "event") != (self.event is not None):
            raise ValueError("an event trigger, and no other, names its event")
        if self.kind == "schedule" and (self.cron is None) == (self.at is None):
            raise ValueError("a schedule has either cron or at")
        if self.kind != "schedule" and (self.cron or self.at):
            raise ValueError("only a schedule has cron or at")
        if self.when and self.kind != "event":
            raise ValueError("only an event trigger has conditions")
        return self


class WorkflowDefinition(Frozen):
    """One version of a workflow. ``queue`` is that of the steps that name none; ``input_schema`` is a JSON Schema.

    Reading it checks each value alone. Whether the whole can run is for ``tenure.flow.model.validation.check``.
    """

    name: WorkflowName
    version: int = Field(1, ge=1, lt=2**31)
    description: str = Field("", max_length=10_000)
    queue: Key | None = None
    input_schema: dict[str, Any] | None = None
    triggers: tuple[Trigger, ...] = ()
    output: Any = None
    deadline: Seconds | None = None
    steps: tuple[Step, ...] = Field(min_length=1, max_length=MAX_STEPS)

    @cached_property
    def by_name(self) -> dict[str, Any]:
        """The steps by their names; of two with one name the first."""
        return {step.name: step for step in reversed(self.steps)}

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> WorkflowDefinition:
        """A copy; what was worked out of the first is worked out anew."""
        copy = super().model_copy(update=update, deep=deep)
        for name in ("by_name", "fingerprint"):
            copy.__dict__.pop(name, None)
        return copy

    def step(self, name: str) -> Any:
        """The step of that name; ``KeyError`` if there is none."""
        return self.by_name[name]

    def mappings(self) -> Iterator[tuple[str | None, str, Any]]:
        """Every mapping: step (None for the run's own), place, mapping."""
        for step in self.steps:
            for place, mapping in step.mappings():
                yield step.name, place, mapping
        yield None, "output", self.output

    def canonical(self) -> dict[str, Any]:
        """The one form that all ways of writing it come to: no defaults, no sugar."""
        return self.model_dump(mode="json", exclude_defaults=True)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form, in hexadecimal."""
        return hashlib.sha256(canonical_json(self.canonical()).encode()).hexdigest()
