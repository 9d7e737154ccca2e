"""A database for one measurement, made on the server that is measured and dropped afterwards."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tenure.model.errors import InvalidRequest
from tenure.store.postgres.migrate import migrate


@contextmanager
def scratch_database(dsn: str) -> Iterator[str]:
    """The DSN of a fresh, migrated database on the server of ``dsn``. Nothing of it is left behind."""
    name = f"tenure_bench_{secrets.token_hex(4)}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        try:
            connection.execute(sql.SQL("create database {} template template0").format(sql.Identifier(name)))
        except psycopg.errors.InsufficientPrivilege as error:
            raise InvalidRequest(
                "Measuring needs a database of its own, and this role may not create one.",
                "Use a role with CREATEDB, or leave --dsn out to measure the embedded PostgreSQL.",
            ) from error
        try:
            own = make_conninfo(dsn, dbname=name)
            migrate(own)
            yield own
        finally:
            connection.execute(sql.SQL("drop database if exists {} with (force)").format(sql.Identifier(name)))
