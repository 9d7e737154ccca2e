"""``tenure recover``: whatever should have followed in a run and did not."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure.cli.call import call_of
from tenure.model import euid

NAME = "recover"


def run(
    context: typer.Context,
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="Only this run: its EUID.")] = None,
) -> None:
    """Repair what a torn write left of runs. On PostgreSQL everything is one transaction, so that nothing is torn."""
    call = call_of(context)
    found = call.client.recover_runs(run)
    lines = [f"{found.runs} runs looked at, {len(found.repaired)} repaired."]
    if found.repaired:
        lines.append(
            f"{found.appended} facts appended, {found.submitted} subjects submitted, {found.canceled} runs' work canceled."
        )
        lines += [euid.format_euid(euid.RUN, uid) for uid in found.repaired]
    lines += [f"{euid.format_euid(euid.RUN, uid)} is corrupt; see `tenure verify`." for uid in found.corrupt]
    lines += [f"{euid.format_euid(euid.RUN, uid)} never began: start it again." for uid in found.orphans]
    call.answer(found, *lines)
