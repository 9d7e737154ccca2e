"""Databases of the tests' server."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator

import psycopg
from psycopg import sql

from tenure.embedded.dsn import with_database

_numbers = itertools.count(1)


def fresh_database(admin: psycopg.Connection, server: str, template: str) -> Iterator[str]:
    """Makes a database from a template, gives its DSN, and drops it: the body of a fixture of whatever scope."""
    name = f"t{os.getpid()}_{next(_numbers)}"
    # Measured without fsync: copying files and dropping takes 30 ms, copying through WAL and dropping 60 ms.
    create = sql.SQL("create database {} template {} strategy file_copy")
    admin.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
    yield with_database(server, name)
    admin.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
