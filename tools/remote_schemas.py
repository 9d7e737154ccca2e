"""Writes schemas/remote/v1 out of the contracts of S5: python tools/remote_schemas.py [--check]."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tenure.api.citations import without_citations
from tenure.remote.model.contracts import (
    EventReceived,
    EventResults,
    ExecutionEvent,
    NodeOrders,
    NodePoll,
    ProjectionUpdate,
    SubmissionAccepted,
    SubmitJobCommand,
)
from tenure.remote.model.fields import Contract

FOLDER = Path(__file__).parents[1] / "schemas" / "remote" / "v1"
_BASE = "urn:tenure:schemas:remote:v1:"
#: The contracts, by the names of their files.
CONTRACTS: dict[str, type[Contract]] = {
    "submit-job-command": SubmitJobCommand, "submission-accepted": SubmissionAccepted, "execution-event": ExecutionEvent,
    "event-received": EventReceived, "event-results": EventResults, "projection-update": ProjectionUpdate,
    "node-poll": NodePoll, "node-orders": NodeOrders,
}  # fmt: skip


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a contract, with its examples."""
    contract = CONTRACTS[name]
    schema = contract.model_json_schema(mode="validation")
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"{_BASE}{name}"}
    if contract is ExecutionEvent:
        wanted = (("completed", "result_ref"), ("failed", "error"))
        schema["allOf"] = [
            {
                "if": {"properties": {"state": {"const": state}}},
                "then": {"required": [name], "properties": {name: {"type": "object"}}},
            }
            for state, name in wanted
        ]  # fmt: skip
    return head | schema


def written(name: str) -> str:
    """The file of a contract."""
    return json.dumps(without_citations(schema_of(name)), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    """Write the files, or with ``--check`` say which differ."""
    if "--check" in sys.argv:
        stale = [
            name for name in CONTRACTS
            if not (FOLDER / f"{name}.json").exists() or (FOLDER / f"{name}.json").read_text("utf-8") != written(name)
        ]  # fmt: skip
        for name in stale:
            print(f"schemas/remote/v1/{name}.json is not what the contracts say: python tools/remote_schemas.py")
        return 1 if stale else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in CONTRACTS:
        (FOLDER / f"{name}.json").write_text(written(name), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
