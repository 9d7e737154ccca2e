"""``tenure down``: stop the embedded PostgreSQL."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure.cli.call import call_of
from tenure.embedded import default_cluster

NAME = "down"


def run(
    context: typer.Context,
    immediate: Annotated[bool, typer.Option("--immediate", help="End at once; the next start recovers.")] = False,
) -> None:
    """Stop the embedded PostgreSQL. Its data stays; a PostgreSQL of your own is not touched."""
    call = call_of(context)
    stopped = default_cluster().stop("immediate" if immediate else "fast")
    call.answer({"stopped": stopped}, "Stopped. Your data stays." if stopped else "No embedded PostgreSQL was running.")
