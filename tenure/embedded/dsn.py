"""Writes the DSNs of an embedded server."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import quote

from tenure.embedded.initialise import DATABASE, SUPERUSER


def over_socket(socket_dir: str, port: int) -> str:
    """The DSN over the Unix socket, as a URI that psycopg, psql and (with another scheme) SQLAlchemy take."""
    # The port is always said, or PGPORT of the caller's environment would steer the client.
    return f"postgresql://{SUPERUSER}@/{DATABASE}?host={quote(socket_dir, safe='/')}&port={port}"


def over_tcp(host: str, port: int, passfile: Path) -> str:
    """The DSN over TCP. The password is in ``passfile``, not in the DSN."""
    shown = f"[{host}]" if ":" in host else host
    return f"postgresql://{SUPERUSER}@{shown}:{port}/{DATABASE}?passfile={quote(str(passfile), safe='/')}"


def with_database(dsn: str, database: str) -> str:
    """The same DSN (a URI) for another database of the server."""
    return re.sub(r"^([a-z+]+://[^/?]*)(/[^?]*)?", lambda match: f"{match[1]}/{quote(database, safe='')}", dsn, count=1)
