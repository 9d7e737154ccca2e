"""``tenure migrate``: bring a database's schema up to date."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from tenure.cli.call import call_of
from tenure.cli.connection import database
from tenure.store.postgres.migrate import known, migrate, pending, render_sql

NAME = "migrate"


def run(
    context: typer.Context,
    sql: Annotated[bool, typer.Option("--sql", help="Print the script for psql instead; needs no database.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show what would be applied; change nothing.")] = False,
) -> None:
    """Apply the migrations that the database lacks. Safe to run again, and by many at once."""
    call = call_of(context)
    if sql:
        sys.stdout.write(render_sql())
        return
    found = database(call.dsn, start=not status)
    if status:
        todo = pending(found.dsn)
        told = [f"{len(known()) - len(todo)} applied, {len(todo)} to apply."] + [f"  to apply  {step}" for step in todo]
        call.answer({"applied": len(known()) - len(todo), "pending": [str(step) for step in todo]}, *told)
        return
    applied = migrate(found.dsn)
    call.answer(
        {"applied": [str(step) for step in applied]},
        *([f"applied  {step}" for step in applied] or ["The schema was up to date."]),
    )
