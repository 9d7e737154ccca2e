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
_SPECIAL = re.compile(r'["\\\x00-\x1f]')
# What the standard library's encoder writes as jsonb does, once keys are in order. Numbers with a point it does not.
_encode_ordered = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(", ", ": ")
).encode
_SCALARS = frozenset({str, int, bool, type(None)})


class _NotPlain(Exception):
    """It takes the long way."""


def canonical_json(value: Any) -> str:
    """``value`` as PostgreSQL prints it from ``jsonb``; ``InvalidPayload`` for what JSON or jsonb cannot hold."""
    try:
        text = _encode_ordered(_ordered(value))
        if not text.isascii():
            text.encode()  # a lone surrogate is refused below, with a sentence; so is a NUL
    except (_NotPlain, RecursionError, UnicodeEncodeError):
        return _written(value)
    return text if "\\u0000" not in text else _written(value)


def _ordered(value: Any) -> Any:
    """The same of plain types alone, every object with its keys in order."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict:
        for key in value:
            if type(key) is not str or not key.isascii():
                raise _NotPlain
        if len(value) < 2:
            return {key: _ordered(inner) for key, inner in value.items()}
        return {key: _ordered(value[key]) for key in sorted(value, key=_by_length)}
    if kind is list or kind is tuple:
        return [_ordered(inner) for inner in value]
    raise _NotPlain


def _by_length(key: str) -> tuple[int, str]:
    return len(key), key


def _written(value: Any) -> str:
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
        return "{" + ", ".join(f"{_string(k[2])}: {_written(inner)}" for k, inner in items) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_written(inner) for inner in value) + "]"
    raise InvalidPayload(f"{type(value).__name__} cannot be written as JSON.", "Convert it to text or numbers first.")


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
    number = Decimal(float.__repr__(value)) if isinstance(value, float) else value
    if not number.is_finite():
        raise InvalidPayload(f"{value} is not a JSON number.", "Use null or text for it.")
    text = format(number, "f")
    return text.removeprefix("-") if not number and text.startswith("-") else text
