"""The registry of fact types in the database is that of the model."""

from __future__ import annotations

import psycopg

from tenure.model.fact_types import REGISTRY
from tenure.model.safe_fields import COLUMNS, SAFE


def test_the_database_and_the_model_register_the_same(shared_connection: psycopg.Connection) -> None:
    rows = shared_connection.execute(
        "select type, action, domain, stream, severity, lane, classification, version, schema, safe_fields, event_id_key"
        " from tenure.fact_type"
    ).fetchall()

    assert {row[0]: row[1:] for row in rows} == {
        name: (t.action, t.domain, t.stream, t.severity, t.lane, t.classification, t.version, t.schema, list(t.safe), t.event_id)
        for name, t in REGISTRY.items()
    }  # fmt: skip


def test_what_is_safe_is_registered_and_is_nothing_that_somebody_wrote_freely() -> None:
    free = {
        "reason",
        "message",
        "comment",
        "properties",
        "set",
        "external_ref",
        "label",
        "policy",
        "spec",
        "input",
        "output",
    }
    assert SAFE.keys() <= REGISTRY.keys()
    for name, kind in REGISTRY.items():
        known = set(COLUMNS) | set(kind.schema["properties"]) | (set(kind.safe) if name.startswith("run.") else set())
        assert set(kind.safe) <= known, name
        assert not set(kind.safe) & free, name
