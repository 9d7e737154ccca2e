"""The command groups put together, and the global options."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure import __version__
from tenure.cli.call import Call
from tenure.cli.commands import (
    agent,
    bench,
    deadletter,
    demo,
    down,
    hold,
    lease,
    migrate,
    node,
    principal,
    queue,
    recover,
    relay,
    retention,
    run,
    schedule,
    serve,
    status,
    subject,
    submission,
    subscription,
    token,
    top,
    up,
    verify,
    worker,
    workers,
)

application = typer.Typer(
    name="tenure",
    help="Runs work that must be provable: one queue for services, people, instruments and clusters, on one PostgreSQL.",
    epilog="The global options may stand anywhere. Exit status: 0 done, 1 refused, 2 usage, 3 no database, 4 it diverges.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"tenure {__version__}")
        raise typer.Exit


@application.callback()
def options(
    context: typer.Context,
    dsn: Annotated[str | None, typer.Option(envvar="TENURE_DSN", help="The PostgreSQL to use, else the embedded one.")] = None,
    tenant: Annotated[str | None, typer.Option(envvar="TENURE_TENANT", help="The tenant to act for ('default').")] = None,
    actor: Annotated[str | None, typer.Option(envvar="TENURE_ACTOR", help="As whom to act; written into every fact.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Machine-readable: one JSON document, or JSON Lines for lists.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Say more, and show where errors came from.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")] = False,
) -> None:  # fmt: skip
    """Keep the global options for the command that follows."""
    call = Call(dsn or None, tenant or None, actor or None, json, verbose)
    context.obj = call
    context.call_on_close(call.close)


for _command in (up, down, status, migrate, serve, worker, relay, verify, recover, top, bench, demo):
    application.command(_command.NAME)(_command.run)
for _group in (
    queue,
    subject,
    lease,
    deadletter,
    hold,
    run,
    schedule,
    subscription,
    retention,
    workers,
    principal,
    token,
    node,
    submission,
    agent,
):
    application.add_typer(_group.group)
