"""Cursors: where a list goes on. Opaque to clients, bound to the list and the filters that they were made for."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from tenure.model.errors import InvalidRequest
from tenure.model.ordering import OrderKey

_MARK = 9
_LONGEST = 1000


def sealed(place: Sequence[Any], *bound_to: Any) -> str:
    """The cursor for ``place`` in the list that ``bound_to`` names: plain values only."""
    text = json.dumps(place, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(_mark(text, bound_to) + text).decode().rstrip("=")


def opened(cursor: str, *bound_to: Any) -> list[Any]:
    """The place behind a cursor. Raises InvalidRequest for one that was changed, or made for another list."""
    try:
        if len(cursor) > _LONGEST:
            raise ValueError("too long")
        raw = base64.b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        text = raw[_MARK:]
        if raw[:_MARK] != _mark(text, bound_to):
            raise ValueError("another list's")
        place = json.loads(text)
        if sealed(place, *bound_to) != cursor:
            raise ValueError("not as it was written")
    except ValueError:
        raise InvalidRequest(
            "cursor: it does not belong to this list.",
            "Take it from `next` of the page before, with the same filters; or leave it out to begin anew.",
        ) from None
    return list(place)


def order_place(key: OrderKey) -> list[Any]:
    """An order key as plain values."""
    rank, due, eligible, created, uid = key
    return [rank, due.isoformat(), eligible.isoformat(), created.isoformat(), uid]


def order_key(place: Sequence[Any]) -> OrderKey:
    """The order key behind ``order_place``."""
    rank, due, eligible, created, uid = place
    return (
        int(rank), datetime.fromisoformat(due), datetime.fromisoformat(eligible), datetime.fromisoformat(created), int(uid),
    )  # fmt: skip


def _mark(text: bytes, bound_to: Sequence[Any]) -> bytes:
    # Not a secret: a cursor only says where to go on among what its reader may see anyway.
    return hashlib.sha256(json.dumps([*bound_to], default=str).encode() + b"\0" + text).digest()[:_MARK]
