"""Turns rows into the values of ``tenure.flow.rows``."""

from __future__ import annotations

from dataclasses import fields

from tenure.flow.rows import RunRow
from tenure.store.postgres.rows import Row

_RUN = [f.name for f in fields(RunRow)]


def run_of(row: Row) -> RunRow:
    """A run from its row."""
    values = {name: row[name] for name in _RUN}
    return RunRow(**values | {"input_hash": bytes(row["input_hash"]), "head": bytes(row["head"])})
