"""The stores that come with Tenure, each as a bench for the contract of stores."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import psycopg

from tenure.store.postgres.runner import run_own
from tenure.store.postgres.store import PostgresStore
from tenure.testing.store_contract import NOON, Bench, memory_bench

STORES = ("memory", "postgres")

__all__ = ["NOON", "STORES", "Bench", "bench_on", "memory_bench"]


def bench_on(connection: psycopg.Connection[Any], tenant_key: str = "lab", now: datetime = NOON) -> Bench:
    """A bench over a connection that the test owns; its clock is a setting of the session."""

    def set_clock(moment: datetime) -> None:
        connection.execute("select set_config('tenure.now', %s, false)", [moment.isoformat()])

    @contextmanager
    def beside(bench: Bench) -> Iterator[Bench]:
        with psycopg.connect(connection.info.dsn, autocommit=True) as another:
            yield bench_on(another, bench.caller.tenant_key, bench.now)

    return Bench(
        "postgres", PostgresStore(), lambda make: run_own(connection, make), set_clock, tenant_key, now, beside
    )
