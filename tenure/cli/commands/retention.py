"""``tenure retention``: how long what is no fact is kept, and its removal."""

from __future__ import annotations

from typing import Annotated, cast

import typer

from tenure.cli.arguments import KeyOption, ReasonOption
from tenure.cli.call import call_of
from tenure.model.retention import KINDS, RetentionKind
from tenure.terminal.listing import table
from tenure.terminal.wording import moment

group = typer.Typer(name="retention", help="Retention: how long what is no fact is kept.", no_args_is_help=True)


@group.command("list")
def list_retention(context: typer.Context) -> None:
    """How long each kind is kept, and what of it was removed."""
    call = call_of(context)
    found = call.client.retention()
    rows = [
        (r.kind, r.days, KINDS[r.kind].default, f"{r.cleared:,}", moment(r.cleared_until) if r.cleared_until else "")
        for r in found
    ]
    columns = ["kind", ">days", ">by default", ">removed", "of before"]
    call.answer_each(found, table(columns, rows))


@group.command("set")
def set_retention(
    context: typer.Context,
    kind: Annotated[str, typer.Argument(metavar="KIND", help="inbox, or delivery.")],
    days: Annotated[int, typer.Option("--days", help="Longer than any sender waits to send again.")],
    reason: ReasonOption = None, idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Keep a kind for so many days. A shorter time removes what is older with the next cleaning."""
    call = call_of(context)
    named = cast("RetentionKind", kind)
    kept = call.client.set_retention(named, days=days, reason=reason, idempotency_key=idempotency_key)
    call.answer(kept, f"{kept.kind} is kept for {kept.days} days.")


@group.command()
def clean(context: typer.Context) -> None:
    """Remove all that is kept no longer, now. Workers, servers and relays do it by themselves, in small batches."""
    call = call_of(context)
    removed = 0
    while batch := call.client.clean():
        removed += batch
    call.answer({"removed": removed}, f"{removed:,} rows were removed.")
