"""``tenure status``: which database, and how it stands."""

from __future__ import annotations

from typing import Any

import typer

from tenure.cli.call import call_of
from tenure.cli.connection import database
from tenure.cli.exit_codes import ExitCode
from tenure.embedded import default_cluster
from tenure.embedded.status import State
from tenure.store.postgres.migrate import pending
from tenure.terminal.listing import fields

NAME = "status"


def run(context: typer.Context) -> None:
    """Say which database is used, whether it runs, and whether its schema is up to date. Changes nothing."""
    call = call_of(context)
    if not call.dsn:
        standing = default_cluster().status()
        if standing.state is not State.RUNNING:
            told = {
                "state": str(standing.state),
                "embedded": True,
                "data": str(standing.pgdata),
                "log": str(standing.log),
            }
            call.answer(told, fields(told), "Start it: tenure up.")
            raise typer.Exit(ExitCode.UNAVAILABLE)
    found = database(call.dsn, start=False)
    todo = pending(found.dsn)
    document: dict[str, Any] = {
        "state": "running", "embedded": found.embedded, "server": found.server, "dsn": found.public_dsn,
        "data": found.data, "note": found.note, "pending_migrations": [str(step) for step in todo],
    }  # fmt: skip
    shown = {
        name: value for name, value in document.items() if value not in (None, "") and name != "pending_migrations"
    }
    shown["schema"] = f"{len(todo)} step(s) to apply: tenure migrate" if todo else "up to date"
    call.answer(document, fields(shown))
