"""What can be said of each step alone: queues, fallbacks, waits, maps, schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.mapping import MAX_DEPTH, depth, problems_in
from tenure.flow.model.paths import is_path
from tenure.flow.model.problem import Problem
from tenure.flow.model.steps import EachTask, MapStep, WaitStep, Work
from tenure.flow.model.times import moment
from tenure.flow.model.validation.triggers import trigger_problems
from tenure.model.errors import InvalidPayload
from tenure.model.json_text import canonical_json


def detail_problems(
    definition: WorkflowDefinition, schema_check: Callable[[dict[str, Any]], str | None] | None = None
) -> Iterator[Problem]:
    """``missing_queue``, ``two_fallbacks``, ``fan_out_rework``, ``wait_needs_one``, ``bad_time``, ``map_over_no_list``,
    ``two_tolerances``, ``bad_schema``, ``bad_path``, ``bad_value``, and what is wrong with triggers.
    """
    for step in definition.steps:
        yield from _queue(step, definition)
        yield from _routes(step)
        if isinstance(step, WaitStep):
            yield from _wait(step)
        if isinstance(step, MapStep):
            yield from _map(step)
    yield from trigger_problems(definition)
    mappings = list(_mappings(definition))
    yield from mappings or _whole(definition)
    yield from _schema(definition, schema_check)


def _queue(step: Any, definition: WorkflowDefinition) -> Iterator[Problem]:
    work = step.each if isinstance(step, MapStep) else step
    if isinstance(work, Work) and (work.queue or definition.queue) is None:
        place = "each.queue" if isinstance(work, EachTask) else "queue"
        yield Problem("missing_queue", step.name, place, "it names no queue, and the workflow has none for all")


def _routes(step: Any) -> Iterator[Problem]:
    for place, routes in (("routes", step.routes), ("on_error", step.on_error)):
        fallbacks = [number for number, route in enumerate(routes) if route.fallback]
        if len(fallbacks) > 1 and not (step.fan_out and place == "routes"):
            yield Problem(
                "two_fallbacks",
                step.name,
                f"{place}[{fallbacks[1]}]",
                "a second route without a condition is never taken",
            )
        for number, route in enumerate(routes):
            if route.limit is not None and step.fan_out and place == "routes":
                yield Problem(
                    "fan_out_rework",
                    step.name,
                    f"{place}[{number}].limit",
                    "a step that takes all routes cannot go back",
                )
            if route.limit is not None and route.ends:
                yield Problem("rework_not_back", step.name, f"{place}[{number}].limit", "the end is no earlier step")
            for nth, condition in enumerate(route.when):
                for where, what in problems_in([condition.path, condition.value], ""):
                    part = "path" if where.startswith("[0]") else "value"
                    yield Problem("bad_path", step.name, f"{place}[{number}].when[{nth}].{part}", what)
                if not is_path(condition.path):
                    yield Problem(
                        "bad_path", step.name, f"{place}[{number}].when[{nth}].path", "a path begins with '$.'"
                    )


def _wait(step: WaitStep) -> Iterator[Problem]:
    given = [key for key in ("duration", "until", "signal") if getattr(step, key) is not None]
    if len(given) != 1:
        yield Problem(
            "wait_needs_one",
            step.name,
            given[1] if given else "",
            "it waits for exactly one of duration, until and signal",
        )
    if step.until is not None and not is_path(step.until) and moment(step.until) is None:
        yield Problem("bad_time", step.name, "until", f"{step.until!r} is neither a path nor a time with its zone")


def _map(step: MapStep) -> Iterator[Problem]:
    if not isinstance(step.over, list | tuple) and not is_path(step.over):
        yield Problem("map_over_no_list", step.name, "over", f"{step.over!r} is neither a list nor a path to one")
    if step.tolerate is not None and step.tolerate_share is not None:
        yield Problem("two_tolerances", step.name, "tolerate_share", "say either tolerate or tolerate_share")


def _whole(definition: WorkflowDefinition) -> Iterator[Problem]:
    """What no mapping holds and still cannot be kept: a NUL in a description."""
    try:
        canonical_json(definition.canonical())
    except (InvalidPayload, ValueError) as error:
        yield Problem("bad_value", None, "", str(getattr(error, "message", error)).removesuffix("."))


def _mappings(definition: WorkflowDefinition) -> Iterator[Problem]:
    for step, place, mapping in definition.mappings():
        for where, what in problems_in(mapping, place):
            yield Problem("bad_path", step, where, what)
        if depth(mapping) > MAX_DEPTH:
            yield Problem("bad_value", step, place, f"it is nested more than {MAX_DEPTH} deep")
            continue
        try:
            canonical_json(mapping)
        except InvalidPayload as error:
            yield Problem("bad_value", step, place, error.message.removesuffix("."))


_TYPES = {"null", "boolean", "object", "array", "number", "integer", "string"}


def _schema(
    definition: WorkflowDefinition, schema_check: Callable[[dict[str, Any]], str | None] | None
) -> Iterator[Problem]:
    if definition.input_schema is None:
        return
    what = next(_schema_complaints(definition.input_schema), None)
    if what is None and schema_check is not None:
        what = schema_check(definition.input_schema)
    if what is not None:
        yield Problem("bad_schema", None, "input_schema", what)


def _schema_complaints(schema: Any, place: str = "") -> Iterator[str]:
    """The mistakes that people make in a JSON Schema; ``schema_check`` finds the others."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"{place or 'the schema'} is no object"
        return
    kinds = schema.get("type", [])
    for kind in [kinds] if not isinstance(kinds, list) else kinds:
        if not isinstance(kind, str) or kind not in _TYPES:
            yield f"{place}{'.' if place else ''}type: {kind!r} is no type of JSON"
    required = schema.get("required", [])
    if not isinstance(required, list) or not all(isinstance(one, str) for one in required):
        yield f"{place}{'.' if place else ''}required is a list of names"
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        yield f"{place}{'.' if place else ''}properties is no object"
        return
    for name, inner in properties.items():
        yield from _schema_complaints(inner, f"{place}{'.' if place else ''}properties.{name}")
    if "items" in schema:
        yield from _schema_complaints(schema["items"], f"{place}{'.' if place else ''}items")
