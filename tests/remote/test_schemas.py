"""schemas/remote/v1 says what the contracts say, and each example of a contract fits both (S5; design 04)."""

from __future__ import annotations

import json
import runpy
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
