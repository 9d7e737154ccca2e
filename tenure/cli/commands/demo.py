"""``tenure demo``: the whole product at work on real data."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure.cli.call import call_of
from tenure.cli.connection import database
from tenure.cli.exit_codes import ExitCode

NAME = "demo"


def run(
    context: typer.Context,
    serve: Annotated[bool, typer.Option(help="Leave a server running at the end, to look around in a browser.")] = True,
    hpc: Annotated[
        bool, typer.Option("--hpc", help="Play on a real Slurm instead, which it starts and stops.")
    ] = False,
) -> None:
    """A laboratory and four real data sets go through queues of services and people; one worker is killed on the way.

    With --hpc the data sets are analysed on a Slurm of its own (Debian: munge slurmctld slurmd slurm-client
    slurm-wlm-basic-plugins); a network is cut and an agent is killed on the way, and nothing is left behind.
    """
    # What only this command needs the others do not wait for.
    from tenure.api.background import require_installed  # noqa: PLC0415
    from tenure.demo.hpc.show import show_on_slurm  # noqa: PLC0415
    from tenure.demo.show import show_it  # noqa: PLC0415

    call = call_of(context)
    if hpc:
        require_installed()
        if not show_on_slurm(call.err if call.json else call.out, call.document if call.json else None):
            raise typer.Exit(ExitCode.DIVERGES)
        return
    found = database(call.dsn, start=True)
    kept = show_it(found.dsn, call.err if call.json else call.out, call.document if call.json else None, serve=serve)
    if not kept:
        raise typer.Exit(ExitCode.DIVERGES)
