"""The role tenure_api: made by the migration where that may, and where not, a server says what to run."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from tenure.api.admission import NotAdmitted, require_admission
from tenure.model.errors import StoreUnavailable
from tenure.store.postgres.migrate import migrate


@pytest.fixture
def plain_owner(admin: psycopg.Connection, database: str) -> Iterator[str]:
    """The DSN of a role that may create objects in its database and nothing else on the server."""
    admin.execute("create role plain_owner login")
    with psycopg.connect(database, autocommit=True) as connection:
        name = connection.info.dbname
        connection.execute(sql.SQL("grant create on database {} to plain_owner").format(sql.Identifier(name)))
    yield database.replace("://tenure@", "://plain_owner@")
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("drop owned by plain_owner cascade")
    admin.execute("drop role plain_owner")


@pytest.fixture
def without_role(admin: psycopg.Connection, migrated_template: str) -> Iterator[None]:
    """A server on which nobody has made the role yet."""
    admin.execute("alter role tenure_api rename to tenure_api_away")
    yield
    admin.execute("drop role if exists tenure_api")
    admin.execute("alter role tenure_api_away rename to tenure_api")


def run_hint(admin: psycopg.Connection, dsn: str, hint: str) -> None:
    """Do as a DBA would who copies what the hint says."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for command in hint.partition(": ")[2].split("; "):
            connection.execute(command.encode())


def test_where_the_migration_may_make_the_role_a_server_is_admitted(migrated_database: str) -> None:
    require_admission(migrated_database)


def test_a_plain_owner_migrates_and_is_told_what_to_run(
    admin: psycopg.Connection, plain_owner: str, database: str, without_role: None
) -> None:
    migrate(plain_owner)
    with pytest.raises(NotAdmitted, match="is missing") as missing:
        require_admission(plain_owner)
    run_hint(admin, database, missing.value.hint)
    require_admission(plain_owner)
    admin.execute(sql.SQL("drop owned by {}").format(sql.Identifier("tenure_api")))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("drop owned by tenure_api")


def test_a_role_that_another_database_made_is_used_again(
    admin: psycopg.Connection, plain_owner: str, database: str, migrated_template: str
) -> None:
    migrate(plain_owner)
    with pytest.raises(NotAdmitted, match="may not act as") as stranger:
        require_admission(plain_owner)
    run_hint(admin, database, stranger.value.hint)
    require_admission(plain_owner)


def test_a_role_without_rights_is_told_apart(admin: psycopg.Connection, database: str, without_role: None) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        migrate(database)
        connection.execute("drop owned by tenure_api")
        with pytest.raises(NotAdmitted, match="no rights") as bare:
            require_admission(database)
        run_hint(admin, database, bare.value.hint)
        require_admission(database)
        connection.execute("drop owned by tenure_api")


def test_an_empty_database_is_told_to_be_migrated(database: str) -> None:
    with pytest.raises(StoreUnavailable, match="present schema"):
        require_admission(database)
