"""JSON Schema, draft 2020-12: is a schema one, and does a value keep to it?

The library is loaded on first use: most processes never look at a schema, and it takes a tenth of their start.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tenure.model.json_text import canonical_json

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


def schema_problem(schema: Any) -> str | None:
    """Why this is no JSON Schema; None where it is one."""
    import jsonschema  # noqa: PLC0415

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        return str(error.message)
    return None


def breach(schema: Mapping[str, Any], value: Any, name: str) -> tuple[str, str] | None:
    """Where a value breaks a schema (``name`` where it is the value as a whole) and how; None where it keeps to it."""
    from jsonschema.exceptions import best_match  # noqa: PLC0415

    error = best_match(_validator(canonical_json(schema)).iter_errors(value))
    if error is None:
        return None
    return "/".join(str(part) for part in error.absolute_path) or name, error.message


@lru_cache(maxsize=256)
def _validator(schema: str) -> Validator:
    from jsonschema import Draft202012Validator  # noqa: PLC0415

    parsed: Any = json.loads(schema)
    return Draft202012Validator(parsed)
