"""Writes the DSN of an embedded server."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from tenure.embedded.initialise import DATABASE, SUPERUSER


def over_socket(socket_dir: str, port: int) -> str:
    """The DSN over the Unix socket, as a URI that psycopg, psql and (with another scheme) SQLAlchemy take."""
    tail = "" if port == 5432 else f"&port={port}"
    return f"postgresql://{SUPERUSER}@/{DATABASE}?host={quote(socket_dir, safe='/')}{tail}"


def over_tcp(host: str, port: int, passfile: Path) -> str:
    """The DSN over TCP. The password is in ``passfile``, not in the DSN."""
    shown = f"[{host}]" if ":" in host else host
    return f"postgresql://{SUPERUSER}@{shown}:{port}/{DATABASE}?passfile={quote(str(passfile), safe='/')}"
