"""``tenure hold``: what is stopped. Holds are placed and released by ``tenure subject``."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure.cli.arguments import LimitOption
from tenure.cli.call import call_of
from tenure.model import euid
from tenure.terminal.listing import table
from tenure.terminal.wording import moment, state

group = typer.Typer(name="hold", help="Holds: what is stopped, by whom, and why.", no_args_is_help=True)


@group.callback()
def holds() -> None:
    """Holds: what is stopped, by whom, and why (place and release them with tenure subject)."""


@group.command("list")
def list_holds(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="The released ones, too.")] = False,
    limit: LimitOption = 50,
) -> None:
    """Holds, newest first."""
    call = call_of(context)
    found = call.client.holds(active_only=not everything, limit=limit)
    rows = [
        (euid.format_euid(euid.HOLD, r.hold.uid), euid.format_euid(euid.SUBJECT, r.hold.subject), r.name, r.hold.hold_code,
         state(r.hold.status), r.hold.reason, r.hold.placed_by, moment(r.hold.placed_at))
        for r in found
    ]  # fmt: skip
    columns = ["!hold", "!subject", "name", "code", "!status", "reason", "by", "since"]
    call.answer_each(found, table(columns, rows) if rows else "Nothing is on hold.")
