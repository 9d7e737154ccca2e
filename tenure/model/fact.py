"""Facts: the journal, ledger and outbox in one (design 01, Facts).

A fact belongs to a thread (a uid), has a gap-free ``seq`` there and is chained to its predecessor by SHA-256. The
canonical form that is hashed is defined here and, letter for letter, by the SQL function ``tenure.fact_hash``.
"""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tenure.model.errors import ForbiddenKey, PayloadTooLarge
from tenure.model.json_text import canonical_json
from tenure.model.states import State

#: S4 section 4.3: a fact is a signal, not the data.
FORBIDDEN_KEYS = frozenset(
    {"body", "content", "raw", "vector", "embedding", "secret", "token", "password", "ssn", "personal_data"}
)
MAX_DATA_BYTES = 10 * 1024

_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
# ASCII: PostgreSQL quotes for its own six blanks, not for every space of Unicode.
_NEEDS_QUOTES = re.compile(r'["\\(),\s]', re.ASCII)


@dataclass(frozen=True, slots=True)
class Draft:
    """A fact as a decision asks for it; seq, time and hash come when it is appended."""

    type: str
    state: State
    revision: int
    queue_key: str | None
    lease: int | None = None
    worker: int | None = None
    data: Mapping[str, Any] | None = None
    idempotency_key: str | None = None
    payload_hash: bytes | None = None


@dataclass(slots=True)
class Fact:
    """One fact as it was appended; never changed, though not frozen: there are millions, and freezing doubles their cost.

    ``state``, ``revision`` and ``queue_key`` are those after it.
    """

    thread: int
    seq: int
    type: str
    at: datetime
    tenant: int
    actor: str
    state: State | None = None
    revision: int | None = None
    queue_key: str | None = None
    lease: int | None = None
    worker: int | None = None
    data: Mapping[str, Any] | None = None
    idempotency_key: str | None = None
    payload_hash: bytes | None = None
    correlation_id: str | None = None
    causation_id: int | None = None
    trace_id: str | None = None
    hash: bytes = b""
    position: int | None = field(default=None, compare=False)

    def content_hash(self, previous: bytes) -> bytes:
        """SHA-256 over the previous hash and this fact's canonical content."""
        micros = (self.at - _EPOCH) // _MICROSECOND
        fixed = struct.pack(
            ">qiqqiqq",
            self.thread,
            self.seq,
            micros,
            self.tenant,
            self.revision or 0,
            self.lease or 0,
            self.worker or 0,
        )
        text = _row(
            self.type,
            self.actor,
            self.state,
            self.queue_key,
            self.idempotency_key,
            self.payload_hash.hex() if self.payload_hash is not None else None,
            self.correlation_id,
            str(self.causation_id) if self.causation_id is not None else None,
            self.trace_id,
            canonical_json(self.data) if self.data is not None else None,
        )
        return hashlib.sha256(previous + fixed + text.encode()).digest()


_MICROSECOND = datetime.resolution


def _row(*values: str | None) -> str:
    """PostgreSQL's text form of a row, which quotes what would be ambiguous."""
    return "(" + ",".join("" if v is None else _quoted(v) for v in values) + ")"


def _quoted(value: str) -> str:
    if value == "" or _NEEDS_QUOTES.search(value):
        return '"' + value.replace("\\", "\\\\").replace('"', '""') + '"'
    return value


def check_data(data: Mapping[str, Any] | None) -> None:
    """Refuse what a fact may not carry: ``ForbiddenKey`` at any depth, ``PayloadTooLarge`` above 10 KiB."""
    if data is None:
        return
    found = _forbidden(data)
    if found:
        raise ForbiddenKey(
            f"A fact may not carry the key {found!r}.",
            "Facts are signals, not data: keep the content in properties or in the payload store and refer to it.",
            key=found,
        )
    size = len(canonical_json(data).encode())
    if size > MAX_DATA_BYTES:
        raise PayloadTooLarge(
            f"A fact may carry at most {MAX_DATA_BYTES} bytes of data, this has {size}.",
            "Keep the content in properties, a result or the payload store and refer to it.",
            size=size,
        )


def _forbidden(value: Any) -> str | None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if str(key).lower() in FORBIDDEN_KEYS:
                return str(key)
            if found := _forbidden(inner):
                return found
    elif isinstance(value, list | tuple):
        for inner in value:
            if found := _forbidden(inner):
                return found
    return None
