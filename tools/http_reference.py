"""Writes docs/reference/http-api.md out of the OpenAPI document: python tools/http_reference.py [--check]."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tenure.api.application import create_application
from tenure.api.settings import ServerSettings

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "http-api.md"
_HEAD = """\
# HTTP API

This page is written by `tools/http_reference.py` out of the OpenAPI document, which a server gives at `/openapi.json` (to read and
try at `/docs`). How to work with it: [work over HTTP](../how-to/work-over-http.md).

- **Who asks.** `Authorization: Bearer TOKEN` (`tenure token create`), or the session of a person who has signed in at `/ui`.
- **Errors** are problem details (RFC 9457): `code` is stable, `detail` says what happened, `hint` what to do next.
- **Lists** answer `{items, next}`. Send `next` as `cursor` for the page after it, until it is null. Cursors are opaque.
- **Idempotency.** Actions take the header `Idempotency-Key`. Sent again with the same key, an action is answered as the first time.
- **Guards.** With `expected_state`, `expected_revision` or `expected_seq` nothing is changed where they do not hold.
- **EUIDs** name everything: a prefix for the eye, a dash, and a body whose last character checks the others.
- **Times** are ISO 8601 with a zone. Bodies are JSON in UTF-8; unknown fields are refused.

Each answer may also be one of these problems: 400 malformed, 401 nobody has said who asks, 403 may not, 404 not there (or another
tenant's), 409 does not fit what is, 413 too large, 415 another media type, 422 content that cannot be accepted, 429 too many
requests, 503 the database is away.
"""


def page() -> str:
    """The whole page."""
    document = create_application(ServerSettings(dsn="", ui=False)).openapi()
    schemas = document["components"]["schemas"]
    parts = [_HEAD]
    for tag in document["tags"]:
        operations = [
            (method.upper(), path, operation)
            for path, item in document["paths"].items() for method, operation in item.items()
            if tag["name"] in operation.get("tags", ())
        ]  # fmt: skip
        if operations:
            parts.append(f"## {tag['name'].capitalize()}\n\n{tag['description']}\n")
            parts += [_operation(*each, schemas) for each in operations]
    return "\n".join(parts).rstrip() + "\n"


def _operation(method: str, path: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    lines = [f"### {method} {path}\n", f"{operation['summary']}. {_flat(operation.get('description', ''))}\n"]
    parameters = [p for p in operation.get("parameters", ()) if p["in"] != "cookie"]
    rows = [
        (p["name"], p["in"], _kind(p["schema"], schemas), _flat(p.get("description") or p["schema"].get("description", "")))
        for p in parameters if p["name"] != "Idempotency-Key"
    ]  # fmt: skip
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        rows += _fields(body["schema"], schemas)
    if rows:
        lines += ["| name | in | type | meaning |", "|---|---|---|---|"]
        lines += [
            f"| `{name}` | {where} | {kind} | {meaning.replace('|', chr(92) + '|')} |"
            for name, where, kind, meaning in rows
        ]
        lines.append("")
    if body and "example" in body:
        lines += ["Request:", "", "```json", json.dumps(body["example"], indent=2), "```", ""]
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            lines += _answer(status, response)
    return "\n".join(lines)


def _fields(schema: dict[str, Any], schemas: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    whole = _resolved(schema, schemas)
    required = whole.get("required", ())
    return [
        (
            name,
            "body, required" if name in required else "body",
            _kind(inner, schemas),
            _flat(_described(inner, schemas)),
        )
        for name, inner in whole.get("properties", {}).items()
        if name not in ("idempotency_key", "expected_state", "expected_revision", "expected_seq")
    ]


def _answer(status: str, response: dict[str, Any]) -> list[str]:
    lines = []
    for media, content in response.get("content", {}).items():
        example = content.get("example")
        if example is None:
            continue
        language = "json" if media == "application/json" else "text"
        text = json.dumps(example, indent=2) if language == "json" else str(example).strip()
        lines += [f"Answer {status}, `{media}`:", "", f"```{language}", text, "```", ""]
    return lines or [f"Answer {status}: {_flat(response.get('description', ''))}", ""]


def _resolved(schema: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    return schemas[schema["$ref"].rsplit("/", 1)[1]] if "$ref" in schema else schema


def _described(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    if "description" in schema:
        return str(schema["description"])
    parts = [part for part in schema.get("anyOf", []) if part.get("type") != "null"]
    return str((parts[0] if parts else _resolved(schema, schemas)).get("description", ""))


def _kind(schema: dict[str, Any], schemas: dict[str, Any]) -> str:
    whole = _resolved(schema, schemas)
    if parts := whole.get("anyOf"):
        return " or ".join(dict.fromkeys(_kind(part, schemas) for part in parts))
    if "enum" in whole:
        return ", ".join(map(str, whole["enum"]))
    if whole.get("type") == "array":
        return f"list of {_kind(whole['items'], schemas)}" if whole.get("items") else "list"
    return str(whole.get("format") or whole.get("type") or whole.get("const") or "any JSON")


def _flat(text: str) -> str:
    return " ".join(text.split())


def main(arguments: list[str]) -> int:
    """Write the page, or with --check only say whether it is current."""
    current = page()
    if "--check" in arguments:
        return 0 if PAGE.read_text(encoding="utf-8") == current else 1
    PAGE.write_text(current, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
