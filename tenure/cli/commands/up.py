"""``tenure up``: everything that is needed to work, with one command."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tenure.api import background
from tenure.api.background import Background
from tenure.cli.call import Call, call_of
from tenure.cli.commands import worker
from tenure.cli.connection import Database, database
from tenure.embedded import default_cluster
from tenure.sdk.tenants import anybody
from tenure.store.postgres.migrate import Migration, migrate
from tenure.terminal.listing import fields

NAME = "up"


def run(
    context: typer.Context,
    worker_of: Annotated[str | None, typer.Option("--worker", metavar="MODULE:APP", help="Also run a worker here.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Of the worker: handlers at once.")] = 100,
    serve: Annotated[bool, typer.Option("--serve", help="Also start a server: the HTTP API, and the screens at /ui.")] = False,
    relay: Annotated[bool, typer.Option(help="That server also sends events to their subscriptions.")] = True,
) -> None:  # fmt: skip
    """Start the embedded PostgreSQL (where no DSN is given), bring the schema up to date, say where everything is.

    A server that it starts goes on in the background until tenure down.
    """
    if serve:
        background.require_installed()
    call = call_of(context)
    found = database(call.dsn, start=True)
    applied = migrate(found.dsn)
    call.dsn = found.dsn
    server = _served(call, found, relay=relay) if serve else None
    call.answer(
        _document(found, applied) | {"address": server and server.address},
        fields(_shown(found, applied) | ({"server": f"{server.address}  (screens at /ui)"} if server else {})),
        *_next_steps(call, worker_of, served=serve),
    )
    if worker_of is not None:
        worker.work(call, worker_of, {"concurrency": concurrency})


def _served(call: Call, found: Database, *, relay: bool) -> Background:
    home = default_cluster().data_dir
    home.mkdir(parents=True, exist_ok=True)
    arguments = ["--tenant", call.tenant] if call.tenant else []
    return background.start(home, arguments + ([] if relay else ["--no-relay"]), dsn=found.dsn)


def _document(found: Database, applied: list[Migration]) -> dict[str, Any]:
    return {
        "dsn": found.public_dsn, "embedded": found.embedded, "server": found.server, "data": found.data,
        "note": found.note, "applied": [str(step) for step in applied],
    }  # fmt: skip


def _shown(found: Database, applied: list[Migration]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "PostgreSQL": f"{found.server}, {'embedded' if found.embedded else 'yours'}",
        "DSN": found.public_dsn,
    }
    if found.data:
        told["data"] = found.data
    if found.note:
        told["note"] = found.note
    told["schema"] = f"up to date, {len(applied)} step(s) applied now" if applied else "up to date"
    return told


def _next_steps(call: Call, worker_of: str | None, *, served: bool) -> list[str]:
    if worker_of is not None:
        return []
    steps = ["", "Next: tenure demo | tenure top | tenure worker MODULE:APP | tenure down stops the server."]
    return [*steps, *first_admin(call, served=served)]


def first_admin(call: Call, *, served: bool = False) -> list[str]:
    """How somebody gets in, where nobody can yet."""
    settings = call.founding_client.settings
    if anybody(settings.dsn, settings.tenant):
        return []
    steps = [
        "Nobody can sign in to a server yet. Create the first admin, then start one:",
        "    tenure principal create user:NAME --role admin --password",
        "    tenure serve",
    ]
    return ["Nobody can sign in yet. Create the first admin:", steps[1]] if served else steps
