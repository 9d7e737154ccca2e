"""Runs on PostgreSQL, beside the PostgreSQL store."""

from __future__ import annotations

from tenure.flow.engine.flow import Flow
from tenure.flow.postgres.storage import PostgresFlow
from tenure.store.postgres.store import PostgresStore


def flow_on(store: PostgresStore) -> Flow:
    """The flow beside a store, to be put among the followers of its callers."""
    return Flow(PostgresFlow(store))
