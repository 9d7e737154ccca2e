"""Whether a server may act as ``tenure_api`` on its database; where not, what a DBA must run (design 05, Roles)."""

from __future__ import annotations

import psycopg
from psycopg import sql

from tenure.model.errors import StoreUnavailable
from tenure.sdk.session import KEEPALIVES

ROLE = "tenure_api"
_ADMITTED = """\
select exists (select from pg_policies where schemaname = 'tenure' and tablename = 'subject' and policyname = 'own_tenant')
    and has_table_privilege(%s, 'tenure.subject', 'select')
"""


class NotAdmitted(StoreUnavailable):
    """The database role of the server may not act as ``tenure_api``, or that role may not use the schema."""

    code = "not_admitted"


def require_admission(dsn: str) -> None:
    """Raises NotAdmitted with what to run, StoreUnavailable where there is no server or no schema of this version."""
    try:
        with psycopg.connect(dsn, prepare_threshold=None, **KEEPALIVES) as connection:
            _require(connection)
    except psycopg.OperationalError as error:
        raise StoreUnavailable(
            f"The database cannot be reached: {str(error).strip()}",
            "See that the server runs and that the DSN is right.",
        ) from error


def _require(connection: psycopg.Connection) -> None:
    row = connection.execute("select current_user, to_regprocedure('tenure.admit_api()') is not null").fetchone()
    user, migrated = row if row is not None else ("", False)
    if not migrated:
        raise StoreUnavailable("The database does not have Tenure's present schema.", "Run `tenure migrate` on it.")
    let_in = f"grant {ROLE} to {sql.Identifier(user).as_string(connection)};"
    try:
        with connection.transaction():
            connection.execute(f"set local role {ROLE}".encode())
    except psycopg.errors.InvalidParameterValue as error:  # there is no such role
        raise NotAdmitted(
            f"The role {ROLE} is missing, as which a server sees one tenant at a time.",
            f"Let a DBA run: create role {ROLE} nologin; {let_in} select tenure.admit_api();",
        ) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise NotAdmitted(
            f"The role {user} may not act as {ROLE}, as which a server sees one tenant at a time.",
            f"Let a DBA run: {let_in}",
        ) from error
    admitted = connection.execute(_ADMITTED, [ROLE]).fetchone()
    if admitted is None or not admitted[0]:
        raise NotAdmitted(
            f"The role {ROLE} was made after the database was migrated, and has no rights on it yet.",
            "Let the owner of the schema tenure run: select tenure.admit_api();",
        )
