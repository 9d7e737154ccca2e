"""schemas/remote/v1 says what the contracts say, and each example of a contract fits both (S5; design 04)."""

from __future__ import annotations

import json
import runpy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

ROOT = Path(__file__).parents[2]
TOOL = runpy.run_path(str(ROOT / "tools" / "remote_schemas.py"))
CONTRACTS: dict[str, Any] = TOOL["CONTRACTS"]
EXAMPLES = [(name, n) for name in CONTRACTS for n in range(len(TOOL["schema_of"](name)["examples"]))]


def kept(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((ROOT / "schemas" / "remote" / "v1" / f"{name}.json").read_text("utf-8"))
    return schema


@pytest.mark.parametrize("name", CONTRACTS)
def test_the_kept_schemas_are_those_of_the_contracts(name: str) -> None:
    """Write them anew: python tools/remote_schemas.py."""
    schema = kept(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == json.loads(TOOL["written"](name))


def test_there_is_no_schema_of_anything_else() -> None:
    assert {path.stem for path in (ROOT / "schemas" / "remote" / "v1").iterdir()} == set(CONTRACTS)


@pytest.mark.parametrize(("name", "number"), EXAMPLES)
def test_each_example_fits_its_schema_and_its_contract(name: str, number: int) -> None:
    schema = kept(name)
    example = schema["examples"][number]
    jsonschema.Draft202012Validator(schema).validate(example)
    contract = CONTRACTS[name].model_validate(example)
    jsonschema.Draft202012Validator(schema).validate(contract.wire())


@pytest.mark.parametrize(("name", "number"), EXAMPLES)
def test_what_lacks_a_required_field_or_says_more_fits_neither(name: str, number: int) -> None:
    schema = kept(name)
    example = schema["examples"][number]
    broken = [{k: v for k, v in example.items() if k != field} for field in schema.get("required", ())]
    broken.append({**example, "something": "more"})
    for each in broken:
        assert not jsonschema.Draft202012Validator(schema).is_valid(each)
        with pytest.raises(ValidationError):
            CONTRACTS[name].model_validate(each)


@pytest.mark.parametrize(("state", "field"), [("completed", "result_ref"), ("failed", "error")])
def test_the_schema_too_knows_what_a_state_asks_for(state: str, field: str) -> None:
    schema = kept("execution-event")
    example = next(each for each in schema["examples"] if each["state"] == state)
    for broken in ({k: v for k, v in example.items() if k != field}, {**example, field: None}):
        assert not jsonschema.Draft202012Validator(schema).is_valid(broken)
        with pytest.raises(ValidationError):
            CONTRACTS["execution-event"].model_validate(broken)


#: Where each kind of value stands: the contract, which of its examples, and the way to it.
PLACES = [
    ("submit-job-command", 0, ("resource_shape", "cpu"), "integer"),
    ("submit-job-command", 0, ("resource_shape", "memory_mib"), "integer"),
    ("submit-job-command", 0, ("resource_shape", "walltime_seconds"), "integer"),
    ("submission-accepted", 0, ("accepted_at",), "timestamp"),
    ("execution-event", 3, ("error", "retryable"), "boolean"),
    ("execution-event", 0, ("occurred_at",), "timestamp"),
    ("event-results", 0, ("results", 0, "status"), "integer"),
    ("projection-update", 3, ("failure", "retryable"), "boolean"),
    ("projection-update", 0, ("projection_round",), "integer"),
    ("projection-update", 0, ("occurred_at",), "timestamp"),
    ("node-poll", 0, ("accepting",), "integer"),
    ("node-poll", 0, ("wait_seconds",), "number"),
    ("node-poll", 0, ("draining",), "boolean"),
    ("node-orders", 0, ("work", 0, "attempt"), "integer"),
    ("node-orders", 0, ("renew_within_seconds",), "number"),
    ("node-orders", 0, ("submit_within_seconds",), "number"),
]
OTHER: dict[str, list[Any]] = {
    "boolean": ["no", "true", 1, 0, 1.0], "integer": ["2", True, 1.5], "number": ["2", True],
    "timestamp": [1700000000, 1700000000.0, True],
}  # fmt: skip


def changed(name: str, number: int, way: tuple[str | int, ...], value: Any) -> Any:
    """An example with one value in another's place."""
    example = json.loads(json.dumps(kept(name)["examples"][number]))
    at = example
    for step in way[:-1]:
        at = at[step]
    at[way[-1]] = value
    return example


@pytest.mark.parametrize(
    ("name", "number", "way", "value"),
    [(name, number, way, value) for name, number, way, kind in PLACES for value in OTHER[kind]],
)
def test_a_value_of_another_type_fits_neither(name: str, number: int, way: tuple[str | int, ...], value: Any) -> None:
    """Nothing is taken for what it is not: `"no"` is no boolean, `true` no number, 1700000000 no timestamp."""
    broken = changed(name, number, way, value)
    assert not jsonschema.Draft202012Validator(kept(name)).is_valid(broken)
    with pytest.raises(ValidationError):
        CONTRACTS[name].model_validate(broken)


@pytest.mark.parametrize(
    ("name", "number", "way"), [(name, number, way) for name, number, way, kind in PLACES if kind == "integer"]
)
def test_a_number_without_a_fraction_is_an_integer_as_in_json_schema(
    name: str, number: int, way: tuple[str | int, ...]
) -> None:
    """JSON knows one kind of number: 2.0 is the integer 2, for the schema and for the contract."""
    example = changed(name, number, way, 2.0)
    jsonschema.Draft202012Validator(kept(name)).validate(example)
    assert CONTRACTS[name].model_validate(example) == CONTRACTS[name].model_validate(changed(name, number, way, 2))


@pytest.mark.parametrize("way", [place[:3] for place in PLACES if place[3] == "timestamp"], ids=lambda way: way[0])
@pytest.mark.parametrize(
    "text",
    [
        "1700000000", "2026-03-01", "2026-03-01T12:00:00", "2026-03-01T12:00Z", "2026-03-01 12:00:00Z",
        "2026-03-01T12:00:00+01", "2026-03-01T12:00:00+0100", "20260301T120000Z", "2026-03-01T12:00:00.Z",
        "2026-13-01T12:00:00Z", "2026-03-01T12:00:00Z\n", "",
    ],
)  # fmt: skip
def test_a_timestamp_is_written_as_rfc_3339_has_it(way: tuple[str, int, tuple[str, ...]], text: str) -> None:
    """With the date, the time to the second, and the offset."""
    name, number, field = way
    with pytest.raises(ValidationError):
        CONTRACTS[name].model_validate(changed(name, number, field, text))


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-01T12:00:00Z",
        "2026-03-01t12:00:00z",
        "2026-03-01T13:00:00+01:00",
        "2026-03-01T12:00:00.000000001-00:00",
    ],
)
def test_what_rfc_3339_allows_is_the_same_instant(text: str) -> None:
    event = CONTRACTS["execution-event"].model_validate(changed("execution-event", 0, ("occurred_at",), text))
    assert event.occurred_at == datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_python_may_give_a_datetime_with_its_offset() -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    event = CONTRACTS["execution-event"].model_validate(
        changed("execution-event", 0, ("occurred_at",), "") | {"occurred_at": at}
    )
    assert event.wire()["occurred_at"] == "2026-03-01T12:00:00Z"
    with pytest.raises(ValidationError):
        CONTRACTS["execution-event"].model_validate(event.model_dump() | {"occurred_at": datetime(2026, 3, 1, 12)})  # noqa: DTZ001
