"""The one text form of JSON that is hashed: that of PostgreSQL's ``jsonb`` (keys by length, then bytes)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tenure.model.errors import InvalidPayload

_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_SPECIAL = re.compile(r'["\\\x00-\x1f]')


def canonical_json(value: Any) -> str:
    """``value`` as PostgreSQL prints it from ``jsonb``; ``InvalidPayload`` for what JSON or jsonb cannot hold."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float | Decimal):
        return _number(value)
    if isinstance(value, Mapping):
        items = sorted(((_key(key), inner) for key, inner in value.items()), key=lambda item: item[0])
        return "{" + ", ".join(f"{_string(k[2])}: {canonical_json(inner)}" for k, inner in items) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(canonical_json(inner) for inner in value) + "]"
    raise InvalidPayload(f"{type(value).__name__} cannot be written as JSON.", "Convert it to text or numbers first.")


def json_text(value: Any) -> str:
    """``value`` as compact JSON for a ``jsonb`` parameter; ``InvalidPayload`` for what jsonb cannot hold."""
    try:
        text = _encode(value)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidPayload(
            f"This cannot be written as JSON: {error}.",
            "Give plain data: objects with text keys, lists, text, numbers.",
        ) from None
    if "\\u0000" in text and _NUL.search(text):
        raise InvalidPayload("Text holds a NUL character, which PostgreSQL cannot keep.", "Remove it.")
    return text


def payload_hash(value: Any) -> bytes:
    """SHA-256 of the canonical JSON of a request's payload (S1 section 7.2)."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).digest()


def instant(value: datetime) -> str:
    """A time as facts carry it: ISO 8601, UTC, microseconds."""
    return value.astimezone(UTC).isoformat(timespec="microseconds")


def from_instant(text: str | None) -> datetime | None:
    """The time behind ``instant``; None stays None."""
    return datetime.fromisoformat(text) if text is not None else None


def _key(key: Any) -> tuple[int, bytes, str]:
    if not isinstance(key, str):
        raise InvalidPayload(f"The key {key!r} is not text.", "JSON objects have text keys.")
    encoded = key.encode("utf-8", "surrogatepass")
    return len(encoded), encoded, key


def _string(text: str) -> str:
    if "\x00" in text:
        raise InvalidPayload("Text holds a NUL character, which PostgreSQL cannot keep.", "Remove it.")
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise InvalidPayload("Text holds a lone surrogate, which is not valid Unicode.", "Decode it properly first.")
    return '"' + _SPECIAL.sub(lambda m: _ESCAPES.get(m[0]) or f"\\u{ord(m[0]):04x}", text) + '"'


def _number(value: float | Decimal) -> str:
    number = Decimal(repr(value)) if isinstance(value, float) else value
    if not number.is_finite():
        raise InvalidPayload(f"{value} is not a JSON number.", "Use null or text for it.")
    text = format(number, "f")
    return text.removeprefix("-") if not number and text.startswith("-") else text
