"""Turns a row of ``evidence`` into the thread as its rows have it, and its facts as they were hashed."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from tenure.model.fact import Fact
from tenure.model.thread import SubjectThread
from tenure.store.postgres import rows

# Numbers keep the digits that were hashed: jsonb knows 1.10, a float does not.
_parse = json.JSONDecoder(parse_float=Decimal).decode


def proof_of(row: rows.Row) -> tuple[SubjectThread, list[Fact]]:
    """The thread with all its attempts, holds, dead letters and outputs, and all its facts."""
    outputs = frozenset((parent, child) for parent, child in row["outputs"])
    return replace(rows.thread(row), outputs=outputs), [_fact(fact) for fact in row["facts"]]


def _fact(row: rows.Row) -> Fact:
    data = _parse(row["data"]) if row["data"] is not None else None
    return rows.fact(
        {
            **row, "at": datetime.fromisoformat(row["at"]), "data": data,
            "payload_hash": rows.token_hash(row["payload_hash"]), "hash": rows.token_hash(row["hash"]),
        }
    )  # fmt: skip
