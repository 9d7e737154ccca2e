"""Reading a definition from plain data, JSON or TOML, with every complaint at once (design 02, Model)."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tenure.flow.model.definition import MAX_STEPS, WorkflowDefinition
from tenure.flow.model.problem import Problem, refuse
from tenure.flow.model.steps import PERFORMERS, Step
from tenure.flow.model.validation import SchemaCheck, check
from tenure.flow.model.validation.names import name_problems

_STEP: TypeAdapter[Any] = TypeAdapter(Step, config=ConfigDict(defer_build=True))
_MAX_TEXT = 4_000_000


def from_json(text: str, schema_check: SchemaCheck | None = None) -> WorkflowDefinition:
    """The definition that JSON text holds; ``InvalidDefinition`` names all that is wrong."""
    _check_length(text)
    try:
        raw = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise refuse([Problem("bad_text", None, "", f"this is not JSON: {error}")]) from None
    return from_data(raw, schema_check)


def from_toml(text: str, schema_check: SchemaCheck | None = None) -> WorkflowDefinition:
    """The definition that TOML text holds, steps as ``[[steps]]``; ``InvalidDefinition`` names all that is wrong."""
    _check_length(text)
    try:
        raw = _plain(tomllib.loads(text))
    except (ValueError, RecursionError) as error:
        raise refuse([Problem("bad_text", None, "", f"this is not TOML: {error}")]) from None
    return from_data(raw, schema_check)


def from_data(raw: Any, schema_check: SchemaCheck | None = None) -> WorkflowDefinition:
    """The definition that plain data holds; ``InvalidDefinition`` names all that is wrong."""
    if not isinstance(raw, Mapping):
        raise refuse([Problem("bad_value", None, "", "a workflow is an object with a name and steps")])
    try:
        definition = WorkflowDefinition.model_validate(dict(raw))
    except ValidationError as error:
        raise refuse(list(_complaints(dict(raw), error)), raw.get("name")) from None
    except RecursionError:
        raise refuse([Problem("bad_value", None, "", "it is nested too deeply")], raw.get("name")) from None
    return check(definition, schema_check)


def _complaints(raw: dict[str, Any], error: ValidationError) -> Iterator[Problem]:
    """What the model said, and of the steps that are well-formed which names are wrong."""
    steps = raw.get("steps")
    for one in error.errors(include_url=False, include_context=False, include_input=False):
        if (
            tuple(one["loc"]) != ("steps",) or one["type"] != "too_short" or not steps
        ):  # too few only because some are wrong
            yield _translated(list(one["loc"]), str(one["type"]), str(one["msg"]), steps)
    if isinstance(steps, list | tuple) and len(steps) <= MAX_STEPS:
        yield from _name_complaints(steps)


def _name_complaints(steps: list[Any] | tuple[Any, ...]) -> Iterator[Problem]:
    read = [step for raw in steps if (step := _well_formed(raw)) is not None]
    if read:
        yield from name_problems(WorkflowDefinition.model_construct(name="", steps=tuple(read), triggers=()))


def _well_formed(raw: Any) -> Any:
    """The step, or what of a malformed one tells its name and the steps that it speaks of; None where it has no name."""
    name = raw.get("name") if isinstance(raw, Mapping) else None
    plain = {"name": name, "performer": "log", "message": ""}
    spoken = {key: raw[key] for key in _SPEAK_OF_STEPS if key in raw} if isinstance(raw, Mapping) else {}
    for attempt in (raw, plain | spoken, plain):
        try:
            return _STEP.validate_python(attempt)
        except ValidationError:
            continue
    return None


_SPEAK_OF_STEPS = ("after", "on_ok", "routes", "on_error")


def _translated(place: list[Any], kind: str, message: str, steps: Any) -> Problem:
    step = None
    if place[:1] == ["steps"] and len(place) > 1 and isinstance(steps, list | tuple):
        number = place[1]
        step = _name_of(steps[number], number)
        place = place[3:] if len(place) > 2 and place[2] in PERFORMERS else place[2:]
    code = {"missing": "missing_field", "extra_forbidden": "unknown_field"}.get(kind, "bad_value")
    if kind.startswith("union_tag"):
        code, place = "unknown_performer", [*place, "performer"]
        message = f"a performer is one of {', '.join(PERFORMERS)}"
    return Problem(code, step, _dotted(place), message[:1].lower() + message[1:])


def _name_of(step: Any, number: int) -> str:
    name = step.get("name") if isinstance(step, Mapping) else getattr(step, "name", None)
    return name if isinstance(name, str) and name else f"steps[{number}]"


def _dotted(place: list[Any]) -> str:
    text = ""
    for part in place:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {key!r} is there twice")
        found[key] = value
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")


def _plain(value: Any) -> Any:
    """TOML has times of its own; a definition has them as text."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def _check_length(text: str) -> None:
    if len(text) > _MAX_TEXT:
        raise refuse([Problem("bad_text", None, "", f"it is longer than {_MAX_TEXT:,} characters")])
