"""``tenure demo``: the whole product at work on real data."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure.cli.call import call_of
from tenure.cli.connection import database
from tenure.cli.exit_codes import ExitCode
from tenure.demo.show import show_it

NAME = "demo"


def run(
    context: typer.Context,
    serve: Annotated[bool, typer.Option(help="Leave a server running at the end, to look around in a browser.")] = True,
) -> None:
    """A laboratory and four real data sets go through queues of services and people; one worker is killed on the way."""
    call = call_of(context)
    found = database(call.dsn, start=True)
    kept = show_it(found.dsn, call.err if call.json else call.out, call.document if call.json else None, serve=serve)
    if not kept:
        raise typer.Exit(ExitCode.DIVERGES)
