"""Brings a database's schema to what this version of the software needs: forward only, in order, each step once.

The files ``migrations/NNNN_name.sql`` are numbered from 1 without gaps. Each is applied in a transaction of its own,
which first takes an advisory lock for its duration and then looks what is still to do. So any number of processes may
migrate at once, directly or through a pooler in transaction mode, and a failure leaves nothing half-done.

Before the first step the schema ``tenure`` and the table ``tenure.migration`` are made; a file need not do so.
Implements design 01, Architecture; docs/decisions/0001-migrations.md says why it is so.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable

import psycopg
from psycopg import IsolationLevel

from tenure.model.errors import StoreUnavailable
from tenure.store.postgres.migration_errors import (
    DatabaseNewer,
    MigrationChanged,
    MigrationFailed,
    MigrationNotPermitted,
    ServerTooOld,
)

MINIMUM_SERVER = 150000
"""The oldest server that is supported, as ``server_version_num`` has it."""

_FILE_NAME = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")
_LOCK_KEY = 8370_1180_0001  # any fixed number of our own; shared by all who migrate

# No setting of the role or the database may change what a migration means or cut it short.
_SESSION = """\
set local search_path = tenure, public;
set local statement_timeout = 0;
set local lock_timeout = 0;
set local idle_in_transaction_session_timeout = 0;
"""

# A script has nobody to look what is still to do, so each of its steps refuses to be anything but the next one.
_NEXT = """\
do $next$
begin
    if (select coalesce(max(number), 0) from tenure.migration) <> {before} then
        raise exception 'Migration {number} is not the next one for this database.'
            using hint = 'See which are applied: select * from tenure.migration order by number.';
    end if;
end
$next$;
"""

_SCRIPT_HEAD = """\
-- Migrations of Tenure, to be run with psql by a role that may create objects in this database.
-- Each step is one transaction; the script stops at the first error.
\\set ON_ERROR_STOP on
"""

# Catalogs are read as tables here: to_regclass() may answer from a cache older than the lock that was waited for.
# "create schema if not exists" wants a right on the database even where the schema is there already.
_BOOKKEEPING = """\
do $bookkeeping$
begin
    if not exists (select from pg_namespace where nspname = 'tenure') then
        create schema tenure;
    end if;
    if not exists (select from pg_tables where schemaname = 'tenure' and tablename = 'migration') then
        create table tenure.migration (
            number integer primary key check (number > 0),
            name text not null,
            checksum text not null,
            applied_at timestamptz not null default now()
        );
    end if;
end
$bookkeeping$;
"""


#: Migrations that were worded anew with the same effect, and the checksums of what they were before.
_REWORDED = {
    # What it was could not be applied to PostgreSQL before 18.
    "0009_flow": frozenset({"be70a70e28a90f60bcfbf9888b792f6e455c0ec230ebf377d39ef985eb2db9cd"}),
}


@dataclass(frozen=True, slots=True)
class Migration:
    """One step. ``checksum`` is the SHA-256 of its text, in hexadecimal; line ends count as one newline each."""

    number: int
    name: str
    sql: str = field(repr=False)
    checksum: str

    def __str__(self) -> str:
        return f"{self.number:04d}_{self.name}"


def known(folder: Traversable | None = None) -> Sequence[Migration]:
    """The migrations that this software brings, in order. Raises ValueError when they are not numbered 1, 2, 3 ..."""
    source = folder if folder is not None else files("tenure.store.postgres") / "migrations"
    found = []
    for entry in source.iterdir():
        match = _FILE_NAME.fullmatch(entry.name)
        if match is None:
            if entry.name.endswith(".sql"):
                raise ValueError(f"The migration {entry.name} is not named like 0001_what_it_does.sql.")
            continue
        text = entry.read_text(encoding="utf-8").replace("\r\n", "\n")
        found.append(Migration(int(match[1]), match[2], text, hashlib.sha256(text.encode()).hexdigest()))
    found.sort(key=lambda migration: migration.number)
    numbers = [migration.number for migration in found]
    if numbers != list(range(1, len(found) + 1)):
        raise ValueError(f"Migrations must be numbered 1, 2, 3 ... without gaps or doubles; found {numbers}.")
    return found


def pending(dsn: str, folder: Traversable | None = None) -> list[Migration]:
    """What ``migrate`` would apply, in order; changes nothing.

    Raises ServerTooOld, DatabaseNewer, MigrationChanged, StoreUnavailable.
    """
    migrations = known(folder)
    with _connect(dsn) as connection:
        return _pending(connection, migrations)


def migrate(dsn: str, folder: Traversable | None = None) -> list[Migration]:
    """Apply what is pending and return what this call applied; an empty list when another process did it.

    Raises ServerTooOld, DatabaseNewer, MigrationChanged, MigrationNotPermitted, MigrationFailed, StoreUnavailable.
    After an error the steps before the failed one stay applied.
    """
    migrations = known(folder)
    applied: list[Migration] = []
    with _connect(dsn) as connection:
        if not _pending(connection, migrations):
            return applied  # the common case takes no lock and needs no right to create anything
        while True:
            step = _apply_next(connection, migrations)
            if step is None:
                return applied
            applied.append(step)


def render_sql(from_number: int = 0, folder: Traversable | None = None) -> str:
    """The script that an administrator may run in psql instead of ``migrate``: all steps after ``from_number``.

    It does the bookkeeping too and stops at once, with nothing of the step kept, if a step is not the database's next.
    """
    steps = [_render(migration) for migration in known(folder) if migration.number > from_number]
    return "\n".join([_SCRIPT_HEAD, *steps])


def _render(migration: Migration) -> str:
    body = migration.sql if migration.sql.endswith("\n") else migration.sql + "\n"
    guard = _NEXT.format(number=migration.number, before=migration.number - 1)
    # The values are ours: a number, a name that matched _FILE_NAME, a hexadecimal digest.
    record = (
        "insert into tenure.migration (number, name, checksum)\n"  # nosec B608
        f"values ({migration.number}, '{migration.name}', '{migration.checksum}');\n"
    )
    begin = f"begin isolation level read committed;\n{_SESSION}select pg_advisory_xact_lock({_LOCK_KEY});\n"
    return f"-- {migration}\n{begin}{_BOOKKEEPING}{guard}\n{body}\n{record}commit;\n"


@contextmanager
def _connect(dsn: str) -> Iterator[psycopg.Connection]:
    try:
        connection = psycopg.connect(dsn, prepare_threshold=None, application_name="tenure migrate")
    except psycopg.OperationalError as error:
        raise StoreUnavailable(
            f"The database could not be reached: {str(error).strip()}",
            "Check TENURE_DSN and that the server runs; without TENURE_DSN Tenure starts one of its own (tenure up).",
        ) from error
    with connection:
        # A stricter level would keep reading what was true before we waited for the lock.
        connection.isolation_level = IsolationLevel.READ_COMMITTED
        yield connection


def _pending(connection: psycopg.Connection, migrations: Sequence[Migration]) -> list[Migration]:
    version = connection.info.server_version
    if version < MINIMUM_SERVER:
        raise ServerTooOld(
            f"The server is PostgreSQL {version // 10000}, and Tenure needs {MINIMUM_SERVER // 10000} or later.",
            "Upgrade the server, or unset TENURE_DSN to use the PostgreSQL that comes along.",
        )
    with connection.transaction():
        applied = _applied(connection)
    return _still_to_do(applied, migrations)


def _applied(connection: psycopg.Connection) -> Mapping[int, tuple[str, str]]:
    # Not to_regclass(): it may answer from a cache that is older than the lock that we have just waited for.
    table = "select from pg_tables where schemaname = 'tenure' and tablename = 'migration'"
    if connection.execute(table).fetchone() is None:
        return {}
    rows = connection.execute("select number, name, checksum from tenure.migration order by number").fetchall()
    return {number: (name, checksum) for number, name, checksum in rows}


def _still_to_do(applied: Mapping[int, tuple[str, str]], migrations: Sequence[Migration]) -> list[Migration]:
    highest = max(applied, default=0)
    if highest > len(migrations):
        raise DatabaseNewer(
            f"The database is at migration {highest}, and this version of Tenure knows only {len(migrations)}.",
            "Upgrade Tenure here to the version that migrated the database; migrations never go back.",
        )
    for migration in migrations[:highest]:
        name, checksum = applied.get(migration.number, ("nothing", ""))
        if checksum != migration.checksum and checksum not in _REWORDED.get(str(migration), ()):
            raise MigrationChanged(
                f"Migration {migration} is not what was applied to this database "
                f"(applied: {name}, checksum {checksum[:12] or 'none'}; here: {migration.checksum[:12]}).",
                "Install an unchanged release of Tenure; put a change of the schema into a new migration.",
            )
    return list(migrations[highest:])


def _apply_next(connection: psycopg.Connection, migrations: Sequence[Migration]) -> Migration | None:
    """Apply the next step in a transaction of its own; None when nothing is left to do."""
    with connection.transaction():
        connection.execute("select pg_advisory_xact_lock(%s)", [_LOCK_KEY])
        todo = _still_to_do(_applied(connection), migrations)
        if not todo:
            return None
        step = todo[0]
        _require_rights(connection)
        try:
            connection.execute((_SESSION + _BOOKKEEPING).encode())
            connection.execute(step.sql.encode())
            connection.execute(
                "insert into tenure.migration (number, name, checksum) values (%s, %s, %s)",
                [step.number, step.name, step.checksum],
            )
        except psycopg.errors.InsufficientPrivilege as error:
            raise _not_permitted(connection, str(error).strip()) from error
        except psycopg.Error as error:
            raise MigrationFailed(
                f"Migration {step} failed: {str(error).strip()}",
                "Nothing of it was kept. Correct what it names, then run 'tenure migrate' again.",
            ) from error
    return step


def _require_rights(connection: psycopg.Connection) -> None:
    row = connection.execute(
        """
        select coalesce((select has_schema_privilege(oid, 'create') from pg_namespace where nspname = 'tenure'),
                        has_database_privilege(current_database(), 'create'))
        """
    ).fetchone()
    if row is None or not row[0]:
        raise _not_permitted(connection, "the role lacks the right to create objects")


def _not_permitted(connection: psycopg.Connection, reason: str) -> MigrationNotPermitted:
    role, database = connection.info.user, connection.info.dbname
    return MigrationNotPermitted(
        f"The role {role} may not migrate the database {database}: {reason}.",
        f'Let its owner run: grant create on database "{database}" to "{role}"; '
        "or let an administrator run what 'tenure migrate --sql' prints.",
    )
