"""Fresh databases for tests: migrated once, then copied."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from tenure.embedded import Cluster
from tenure.embedded.dsn import with_database
from tenure.store.postgres.migrate import migrate


@contextmanager
def server() -> Iterator[str]:
    """The DSN of a server for tests: ``TENURE_TEST_DSN``, or an embedded one that is thrown away afterwards.

    The role of ``TENURE_TEST_DSN`` must be allowed to create databases.
    """
    if given := os.environ.get("TENURE_TEST_DSN"):
        yield given
        return
    # A short path, so that the socket's fits; where this is root, the server's own user has to pass.
    folder = Path(tempfile.mkdtemp(prefix="tnr-"))
    folder.chmod(0o755)
    cluster = Cluster(folder / "server", fallbacks=[folder / "lib"])
    try:
        dsn = cluster.start()
        with psycopg.connect(dsn, autocommit=True) as connection:
            # Nobody needs this data after a power cut.
            connection.execute("alter system set fsync = off")
            connection.execute("select pg_reload_conf()")
        yield dsn
    finally:
        cluster.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


class Databases:
    """Makes databases on one server, and drops them."""

    def __init__(self, server_dsn: str) -> None:
        self._server = server_dsn
        self._names = f"tenure_test_{os.getpid()}_{secrets.token_hex(3)}"
        self._made = 0
        self._template: str | None = None

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """The DSN of a database with Tenure's schema and nothing in it."""
        self._made += 1
        name = f"{self._names}_{self._made}"
        self._execute("create database {} template {} strategy file_copy", name, self._migrated())
        try:
            yield self._dsn(name)
        finally:
            self._execute("drop database {} with (force)", name)

    def close(self) -> None:
        """Drop what is left."""
        if self._template is not None:
            self._execute("drop database if exists {} with (force)", self._template)
            self._template = None

    def _migrated(self) -> str:
        if self._template is None:
            name = f"{self._names}_template"
            self._execute("create database {} template template0", name)
            migrate(self._dsn(name))
            self._template = name
        return self._template

    def _dsn(self, name: str) -> str:
        if "://" in self._server:
            return with_database(self._server, name)
        return make_conninfo(self._server, dbname=name)

    def _execute(self, statement: str, *names: str) -> None:
        with psycopg.connect(self._server, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))
