"""Access over TCP, which is off unless asked for: the role's password, kept in a file that libpq reads by itself.

A DSN names the file and never holds the password, so that it may be logged and shown.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

import psycopg
from psycopg import sql

from tenure.embedded.account import Account

_FILE = "pgpass"


def passfile(root: Path) -> Path:
    """The password file of the server whose files are in ``root``."""
    return root / _FILE


def ensure_password(root: Path, socket_dsn: str, role: str, account: Account) -> None:
    """Give ``role`` a password on the first call and keep it in the password file, readable by its owner alone."""
    path = passfile(root)
    if path.exists():
        return
    password = secrets.token_urlsafe(32)
    with psycopg.connect(socket_dsn, autocommit=True) as connection:
        verifier = connection.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
        connection.execute(sql.SQL("alter role {} password {}").format(sql.Identifier(role), sql.Literal(verifier)))
    partial = path.with_name(f"{_FILE}.new")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(f"*:*:*:{role}:{password}\n")
    account.own(partial)
    partial.rename(path)
