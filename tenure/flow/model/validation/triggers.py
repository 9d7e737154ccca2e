"""Triggers: what they map is there, and when they fall due can be worked out."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import ValidationError

from tenure.flow.model.definition import Trigger, WorkflowDefinition
from tenure.flow.model.mapping import paths_in, problems_in
from tenure.flow.model.paths import is_path
from tenure.flow.model.problem import Problem
from tenure.flow.model.schedule import ScheduleSpec


def trigger_problems(definition: WorkflowDefinition) -> Iterator[Problem]:
    """``bad_path``, ``trigger_reads_run``, ``bad_schedule``."""
    for number, trigger in enumerate(definition.triggers):
        place = f"triggers[{number}]"
        read = [(f"{place}.input", trigger.input)]
        for nth, condition in enumerate(trigger.when):
            read += [(f"{place}.when[{nth}].path", condition.path), (f"{place}.when[{nth}].value", condition.value)]
            if not is_path(condition.path):
                yield Problem("bad_path", None, f"{place}.when[{nth}].path", "a path begins with '$.'")
        for where, mapping in read:
            for at, what in problems_in(mapping, where):
                yield Problem("bad_path", None, at, what)
            for at, path in paths_in(mapping, where):
                if path.root != "event":
                    yield Problem("trigger_reads_run", None, at, f"{path}: before a run begins there is only $.event")
        if trigger.kind == "schedule" and (wrong := _unscheduled(definition, trigger)) is not None:
            yield Problem("bad_schedule", None, place, wrong)


def _unscheduled(definition: WorkflowDefinition, trigger: Trigger) -> str | None:
    try:
        ScheduleSpec.model_validate(
            {
                "name": trigger.name, "cron": trigger.cron, "at": trigger.at, "timezone": trigger.timezone,
                "missed": trigger.missed, "workflow": definition.name,
            }
        )  # fmt: skip
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        return str(first["msg"]).removeprefix("Value error, ")
    return None
