"""``tenure lease``: who holds what, until when."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from tenure.cli.arguments import KeyOption, LimitOption, ReasonOption, existing_lease, existing_queue, worker_of
from tenure.cli.call import call_of
from tenure.cli.commands import holding
from tenure.cli.commands.holding import LeaseArgument
from tenure.model import euid
from tenure.model.attempt import record_of
from tenure.model.euid import parse_euid
from tenure.model.states import LeaseStatus
from tenure.terminal.listing import fields, table
from tenure.terminal.outcome import outcome
from tenure.terminal.wording import moment, state

group = typer.Typer(name="lease", help="Leases: who holds what, until when.", no_args_is_help=True)

for _command in (holding.start, holding.renew, holding.complete, holding.fail, holding.release):
    group.command()(_command)


class Which(StrEnum):
    """Which leases to list."""

    ACTIVE = "active"
    RELEASED = "released"
    COMPLETED = "completed"
    EXPIRED = "expired"
    ABANDONED = "abandoned"
    CANCELED = "canceled"
    ALL = "all"


@group.command("list")
def list_leases(
    context: typer.Context,
    status: Annotated[Which, typer.Option("--status", case_sensitive=False, help="Which of them.")] = Which.ACTIVE,
    queue: Annotated[str | None, typer.Option("--queue", help="Of one queue.")] = None,
    worker: Annotated[str | None, typer.Option("--worker", help="Of one worker: EUID or worker_key.")] = None,
    limit: LimitOption = 50,
) -> None:
    """Leases, newest first."""
    call = call_of(context)
    holder = worker_of(call.client, worker) if worker is not None else None
    chosen = None if status is Which.ALL else LeaseStatus[status.name]
    found = call.client.leases(chosen, limit=limit, queue_key=queue, worker=holder)
    if queue is not None and not found:
        existing_queue(call.client, queue)  # a retired one may have leases all the same
    names = {each.uid: each.worker_key for each in call.client.workers()} if found and not call.json else {}
    rows = [
        (euid.format_euid(euid.LEASE, a.uid), euid.format_euid(euid.SUBJECT, a.subject), a.queue_key,
         names.get(a.worker or 0, euid.format_euid(euid.WORKER, a.worker or 0)), state(a.lease_status), moment(a.expires_at))
        for a in (row.attempt for row in found)
    ]  # fmt: skip
    columns = ["!lease", "!subject", "queue", "worker", "!status", "!expires"]
    call.answer_each(found, table(columns, rows) if rows else "There are none.")


@group.command()
def show(context: typer.Context, lease: LeaseArgument) -> None:
    """One lease with its execution record."""
    call = call_of(context)
    row = existing_lease(call.client, lease)
    a = row.attempt
    told = {
        "lease": euid.format_euid(euid.LEASE, a.uid), "record": euid.format_euid(euid.RECORD, record_of(a.uid)),
        "subject": euid.format_euid(euid.SUBJECT, a.subject), "queue": a.queue_key,
        "worker": euid.format_euid(euid.WORKER, a.worker) if a.worker else None, "attempt": a.attempt_number,
        "lease status": state(a.lease_status), "record status": state(a.record_status), "claimed": a.claimed_at,
        "started": a.started_at, "last renewed": a.heartbeat_at, "expires": a.expires_at, "ended": a.ended_at,
        "because": a.release_reason, "error": a.error_class, "error code": a.error_code,
        "error message": row.error_message, "result": row.result, "result_ref": row.result_ref,
    }  # fmt: skip
    call.answer(row, fields({name: value for name, value in told.items() if value is not None}))


@group.command()
def expire(
    context: typer.Context, lease: LeaseArgument,
    force: Annotated[bool, typer.Option("--force", help="Also where it has not run out: its holder loses it.")] = False,
    reason: ReasonOption = None, idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Mark a lease that ran out EXPIRED, so that its subject is free again."""
    call = call_of(context)
    result = call.client.expire_lease(parse_euid(lease), force=force, reason=reason, idempotency_key=idempotency_key)
    call.answer(result, outcome(result))
