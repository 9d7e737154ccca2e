"""``tenure schedule``: what starts by itself, and when."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tenure.cli.arguments import ReasonOption, json_value, time_of
from tenure.cli.call import call_of
from tenure.flow.rows import ScheduleRow
from tenure.terminal.listing import table
from tenure.terminal.wording import moment

group = typer.Typer(name="schedule", help="Schedules: what starts by itself, and when.", no_args_is_help=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the schedule.")]


@group.command()
def define(
    context: typer.Context, name: NameArgument,
    workflow: Annotated[str | None, typer.Option("--workflow", help="Start runs of this workflow.")] = None,
    queue: Annotated[str | None, typer.Option("--queue", help="Or put subjects before this queue.")] = None,
    action: Annotated[str | None, typer.Option("--action", help="The task that these subjects are for.")] = None,
    cron: Annotated[str | None, typer.Option("--cron", help="When: minute hour day month weekday, e.g. '0 3 * * *'.")] = None,
    at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="Or once, at this time.")] = None,
    timezone: Annotated[str, typer.Option("--timezone", help="The zone of the cron line, e.g. Europe/Berlin.")] = "UTC",
    missed: Annotated[str, typer.Option("--missed", help="What was missed: skip, once, or catch_up.")] = "once",
    grace: Annotated[int, typer.Option("--grace", metavar="SECONDS", help="So late is not missed yet.")] = 300,
    given: Annotated[str | None, typer.Option("--input", metavar="JSON", help="The input; @file, - for stdin.")] = None,
) -> None:  # fmt: skip
    """Define a schedule, or change the one of that name."""
    call = call_of(context)
    spec: dict[str, Any] = {
        "workflow": workflow, "queue_key": queue, "action": action, "cron": cron, "at": time_of(at, "--at"),
        "input": json_value(given, "--input"),
    }  # fmt: skip
    row = call.client.define_schedule(
        name, timezone=timezone, missed=missed, grace_seconds=grace,
        **{field: value for field, value in spec.items() if value is not None},
    )  # fmt: skip
    call.answer(row, _told([row]))


@group.command("list")
def list_schedules(context: typer.Context) -> None:
    """All schedules, and when each falls due."""
    call = call_of(context)
    found = call.client.schedules()
    call.answer_each(found, _told(found) if found else "There are no schedules.")


@group.command()
def pause(context: typer.Context, name: NameArgument, reason: ReasonOption = None) -> None:
    """Let a schedule rest."""
    call = call_of(context)
    row = call.client.pause_schedule(name, reason=reason)
    call.answer(row, _told([row]))


@group.command()
def resume(context: typer.Context, name: NameArgument, reason: ReasonOption = None) -> None:
    """Let it go on from now; what fell due while it rested is not made good."""
    call = call_of(context)
    row = call.client.resume_schedule(name, reason=reason)
    call.answer(row, _told([row]))


def _told(rows: list[ScheduleRow]) -> Any:
    shown = [
        (r.name, r.spec.get("workflow") or f"queue {r.spec.get('queue_key')}", r.spec.get("cron") or "once",
         r.spec.get("timezone", "UTC"), moment(r.next_at) if r.next_at else ("" if r.enabled else "paused"),
         moment(r.last_at) if r.last_at else "")
        for r in rows
    ]  # fmt: skip
    return table(["schedule", "starts", "when", "zone", "next", "last"], shown)
