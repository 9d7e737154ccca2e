"""Opens the agent's file: durable, of a version that this agent knows, brought up to date."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from tenure.agent.errors import NoAgentHere, StateFolderUnusable, StateTooNew

FILE = "agent.sqlite"
_MIGRATIONS = tuple(
    path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "migrations").glob("*.sql"))
)


def connected(folder: Path, *, timeout: float = 30.0) -> sqlite3.Connection:
    """A connection that writes; the schema is brought up to date. Raises StateFolderUnusable, StateTooNew."""
    path = folder / FILE
    try:
        connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        connection.execute("pragma journal_mode = wal")
        connection.execute("pragma synchronous = full")  # what was written down is there after a power cut
        _migrate(connection, path)
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    return connection


def looking(folder: Path) -> sqlite3.Connection:
    """A connection that only reads, beside a running agent. Raises NoAgentHere, StateFolderUnusable, StateTooNew."""
    path = folder / FILE
    if not path.exists():
        raise NoAgentHere(
            f"No agent has worked in {folder}.", "Name its node or its state folder: --node, --state-folder, --config."
        )
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10, isolation_level=None)
        connection.row_factory = sqlite3.Row
        _known(connection, path)
    except sqlite3.Error as error:
        raise unusable(path, error) from error
    return connection


def unusable(path: Path, error: sqlite3.Error) -> StateFolderUnusable:
    """What to tell of a file that SQLite cannot use."""
    return StateFolderUnusable(
        f"{path} cannot be used: {error}.", "See that the disk is not full and that the agent's user may write there."
    )


def _known(connection: sqlite3.Connection, path: Path) -> int:
    version = int(connection.execute("pragma user_version").fetchone()[0])
    if version > len(_MIGRATIONS):
        raise StateTooNew(
            f"{path} was written by a newer agent (version {version} of its schema; this one knows {len(_MIGRATIONS)}).",
            "Install that version of Tenure again; nothing was changed.",
        )
    return version


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    version = _known(connection, path)
    for number, script in enumerate(_MIGRATIONS[version:], start=version + 1):
        # Each in a transaction of its own: a crash leaves the version that is written in the file.
        connection.executescript(f"begin immediate;\n{script}\npragma user_version = {number};\ncommit;")
