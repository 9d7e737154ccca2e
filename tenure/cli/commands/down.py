"""``tenure down``: stop what runs in the background here."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure.api import background
from tenure.cli.call import call_of
from tenure.embedded import default_cluster

NAME = "down"


def run(
    context: typer.Context,
    immediate: Annotated[bool, typer.Option("--immediate", help="End at once; the next start recovers.")] = False,
) -> None:
    """Stop the server in the background and the embedded PostgreSQL. Its data stays; your own PostgreSQL is not touched."""
    call = call_of(context)
    cluster = default_cluster()
    server = background.stop(cluster.data_dir)
    database = cluster.stop("immediate" if immediate else "fast")
    told = "Stopped. Your data stays." if database or server else "Nothing was running."
    call.answer({"stopped": database, "server_stopped": server}, told)
