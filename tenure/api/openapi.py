"""The OpenAPI document: what FastAPI works out of the routes, with the problems that each may answer, and examples."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from tenure.api.citations import without_citations
from tenure.api.problem import MEDIA_TYPE, Problem

_PROBLEMS = {
    "400": ("The request is malformed.", "invalid_request", "limit: Input should be less than or equal to 500."),
    "401": ("Nobody has said who asks, or what was said proves nothing.", "unauthenticated", "The request does not say who asks."),
    "403": ("Whoever asks may not do this.", "forbidden", "This needs the permission to operate."),
    "404": ("There is no such object for this tenant.", "not_found", "There is no such subject."),
    "409": ("What was asked does not fit what is; nothing was changed.", "state_conflict", "The subject is HELD, not READY."),
    "413": ("The body is too large.", "body_too_large", "The body is larger than 67,108,864 bytes."),
    "415": ("The body is of another media type.", "unsupported_media_type", "The body is text/plain."),
    "422": ("The request is well formed, but its content cannot be accepted.", "invalid_payload", "volume_ul breaks the schema."),
    "429": ("Too many requests; Retry-After says when to come back.", "rate_limited", "More than 200 requests a second."),
    "503": ("The database is away; nothing is known to have changed.", "store_unavailable", "The database did not answer."),
}  # fmt: skip
_TITLES = {
    "400": "Bad Request", "401": "Unauthorized", "403": "Forbidden", "404": "Not Found", "409": "Conflict",
    "413": "Content Too Large", "415": "Unsupported Media Type", "422": "Unprocessable Content",
    "429": "Too Many Requests", "503": "Service Unavailable",
}  # fmt: skip
_SECURED = frozenset({"400", "401", "403", "429", "503"})
_POSTED = frozenset({"404", "409", "413", "415", "422"})
_WRITES = ("post", "put", "patch")
_TAGS = [
    ("queues", "Queues are policy: what they serve, to whom, and how they retry. What is in one is derived."),
    ("subjects", "Anything that work is done on, with its own execution envelope."),
    ("work", "Taking work under lease, and what the holder of a lease reports."),
    ("operate", "What operators and admins do: hold, release, requeue, cancel, resolve, expire."),
    ("workers", "Services, people and instruments that work."),
    ("leases", "Exclusive claims, live and ended, each with its execution record."),
    ("triage", "Dead letters and holds: what waits for a person."),
    ("runs", "Runs of workflows: start, look at, steer; and the schedules that start them."),
    ("remote", "Submissions to execution stacks of somebody else: the product's side, and the node's."),
    ("ledger", "Every change of anything, as a sequence to read or to follow."),
    ("retention", "How long what is no fact is kept."),
    ("subscriptions", "Which events leave, where to, and what each subscription gave up."),
    ("session", "Signing in and out, and who one is."),
    ("identity", "Who may act: principals, their roles and their access tokens."),
    ("server", "Health and metrics."),
]


def install(application: FastAPI) -> None:
    """Let the application answer /openapi.json with this document."""

    def document() -> dict[str, Any]:
        if application.openapi_schema is None:
            application.openapi_schema = described(application)
        return application.openapi_schema

    application.openapi = document  # type: ignore[method-assign]


def described(application: FastAPI) -> dict[str, Any]:
    """The document."""
    document = get_openapi(
        title=application.title, version=application.version, description=application.description,
        routes=application.routes, tags=[{"name": name, "description": text} for name, text in _TAGS],
    )  # fmt: skip
    schemas = document["components"]["schemas"]
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    schemas["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    for item in document["paths"].values():
        for method, operation in item.items():
            for parameter in operation.get("parameters", ()):
                _never_null(parameter["schema"])
            _add_problems(method, operation)
            _add_examples(operation, schemas)
    told: dict[str, Any] = without_citations(document)
    return told


def _never_null(schema: dict[str, Any]) -> None:
    """A parameter is there or left out: an address has no null."""
    parts = schema.get("anyOf", [])
    if {"type": "null"} in parts and len(parts) == 2:
        del schema["anyOf"]
        schema.update(next(part for part in parts if part != {"type": "null"}) | schema)


def _add_problems(method: str, operation: dict[str, Any]) -> None:
    responses = operation["responses"]
    if "HTTPValidationError" in str(responses.get("422", "")):
        del responses["422"]
    statuses = {status for status in responses if status in _PROBLEMS}
    if operation.get("security") or method in _WRITES:
        statuses |= _SECURED
    if method in _WRITES:
        statuses |= _POSTED
    if any(parameter["in"] == "path" for parameter in operation.get("parameters", ())):
        statuses.add("404")
    for status in sorted(statuses):
        description, code, detail = _PROBLEMS[status]
        given = responses.setdefault(status, {"description": description})
        given["content"] = {MEDIA_TYPE: {
            "schema": {"$ref": "#/components/schemas/Problem"},
            "example": {"type": "about:blank", "title": _TITLES[status], "status": int(status), "code": code,
                        "detail": detail, "hint": "", "evidence": {}},
        }}  # fmt: skip
    operation["responses"] = dict(sorted(responses.items()))


def _add_examples(operation: dict[str, Any], schemas: dict[str, Any]) -> None:
    contents = [operation.get("requestBody", {}).get("content", {})]
    contents += [response.get("content", {}) for response in operation["responses"].values()]
    for content in contents:
        media = content.get("application/json")
        if media is not None and "example" not in media and "examples" not in media:
            media["example"] = example_of(media["schema"], schemas)


def example_of(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """The example that a schema gives, or one put together of those of its parts."""
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas)
    if schema.get("examples"):
        return _completed(schema["examples"][0], schema, schemas)
    for key in ("const", "default"):
        if key in schema:
            return schema[key]
    if "enum" in schema:
        return schema["enum"][0]
    if parts := schema.get("anyOf") or schema.get("allOf"):
        plain = [part for part in parts if part.get("type") != "null"]
        return None if len(plain) < len(parts) and "$ref" not in plain[0] else example_of(plain[0], schemas)
    return _by_type(schema, schemas)


def _completed(example: Any, schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    """An example with the nulls that FastAPI has dropped from it."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rsplit("/", 1)[1]]
    if isinstance(example, list) and "items" in schema:
        return [_completed(each, schema["items"], schemas) for each in example]
    if not isinstance(example, dict):
        return example
    inner = schema.get("properties", {})
    whole = {name: _completed(value, inner.get(name, {}), schemas) for name, value in example.items()}
    return whole | {name: None for name in schema.get("required", ()) if name not in whole}


def _by_type(schema: dict[str, Any], schemas: dict[str, Any]) -> Any:
    kind = schema.get("type")
    if kind == "object" and schema.get("minProperties"):  # by names that users choose
        return {"name": example_of(next(iter(schema["patternProperties"].values())), schemas)}
    if kind == "object":
        return {name: example_of(inner, schemas) for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [example_of(schema["items"], schemas)] if schema.get("items") else []
    if kind == "string":
        return "2026-03-01T12:00:00.000000+00:00" if schema.get("format") == "date-time" else "text"
    return {"integer": int(schema.get("minimum", 0)), "number": 0.0, "boolean": False}.get(kind or "")
