"""What an event starts: whether it fits a trigger, and which input the run is given."""

from __future__ import annotations

from typing import Any

from tenure.flow.model.data import EVENT, Scope
from tenure.flow.model.definition import Trigger
from tenure.flow.model.fold import nothing


def fits(trigger: Trigger, kind: str, event: Any) -> bool:
    """Whether an event of this type, with this payload, starts a run by the trigger."""
    scope = Scope(nothing(0), {EVENT: event})
    return (
        trigger.kind == "event" and trigger.event == kind and all(condition.holds(scope) for condition in trigger.when)
    )


def input_of(trigger: Trigger, event: Any = None) -> Any:
    """The input of the run: the mapping of the trigger, or the event itself; ``MappingFailed`` where a path finds nothing."""
    if trigger.input is None:
        return event
    return Scope(nothing(0), {EVENT: event}).evaluate(trigger.input, f"triggers.{trigger.name}.input")
