"""Names: each step has its own, and whatever is referred to is there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any

from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.names import END
from tenure.flow.model.problem import Problem


def name_problems(definition: WorkflowDefinition) -> Iterator[Problem]:
    """``duplicate_step``, ``duplicate_trigger``, ``reserved_name``, ``unknown_step``."""
    counts = Counter(step.name for step in definition.steps)
    for name, count in counts.items():
        if count > 1:
            yield Problem("duplicate_step", name, "name", f"{count} steps have this name")
        if name == END:
            yield Problem("reserved_name", name, "name", f"{END!r} is where routes lead that end their branch")
    for name, count in Counter(trigger.name for trigger in definition.triggers).items():
        if count > 1:
            yield Problem("duplicate_trigger", None, "triggers", f"{count} triggers have the name {name!r}")
    for step in definition.steps:
        for place, name in referred(step):
            if name not in counts:
                yield Problem("unknown_step", step.name, place, f"there is no step {name!r}{_guess(name, counts)}")


def referred(step: Any) -> Iterator[tuple[str, str]]:
    """The steps that a step speaks of, with the places."""
    for before in step.after:
        yield "after", before
    for place, routes in (("routes", step.routes), ("on_error", step.on_error)):
        for number, route in enumerate(routes):
            if not route.ends:
                yield f"{place}[{number}].to", route.to
    if undo := getattr(step, "compensate_with", None):
        yield "compensate_with", undo


def _guess(name: str, names: Counter[str]) -> str:
    close = get_close_matches(name, names, 1)
    return f"; did you mean {close[0]!r}?" if close else ""
