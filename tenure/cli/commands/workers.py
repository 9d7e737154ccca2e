"""``tenure workers``: who works, and who may."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from tenure.cli.arguments import NeededReason, ReasonOption, worker_of
from tenure.cli.call import Call, call_of
from tenure.model import euid
from tenure.model.worker import Worker
from tenure.sdk.public_form import public
from tenure.terminal.listing import table
from tenure.terminal.wording import age, state

group = typer.Typer(name="workers", help="Workers: services, people, instruments.", no_args_is_help=True)

WorkerArgument = Annotated[str, typer.Argument(metavar="WORKER", help="EUID (WX-1T8Z) or worker_key.")]


@group.command("list")
def list_workers(context: typer.Context) -> None:
    """All workers that are not retired."""
    call = call_of(context)
    found = call.client.workers()
    now = datetime.now(UTC)
    rows = [
        (euid.format_euid(euid.WORKER, w.uid), w.worker_key, w.worker_type, state(w.effective_status(now)),
         age((now - w.heartbeat_at).total_seconds()), w.max_concurrent_leases, ", ".join(w.capabilities))
        for w in found
    ]  # fmt: skip
    columns = ["!worker", "key", "type", "!status", ">beat", ">limit", "capabilities"]
    call.answer_each(
        ({**public(w), "effective_status": str(w.effective_status(now))} for w in found),
        table(columns, rows) if rows else "There are no workers. Start one: tenure worker MODULE:APP.",
    )


@group.command()
def drain(context: typer.Context, worker: WorkerArgument, reason: ReasonOption = None) -> None:
    """Let a worker finish what it holds and claim no more."""
    call = call_of(context)
    _change(call, worker, call.client.drain_worker, reason, "finishes what it holds and claims no more")


@group.command()
def disable(context: typer.Context, worker: WorkerArgument, reason: NeededReason) -> None:
    """Forbid a worker to claim and to renew: what it holds runs out."""
    call = call_of(context)
    _change(call, worker, call.client.disable_worker, reason, "may neither claim nor renew")


@group.command()
def enable(context: typer.Context, worker: WorkerArgument, reason: ReasonOption = None) -> None:
    """Undo draining or disabling."""
    call = call_of(context)
    _change(call, worker, call.client.enable_worker, reason, "may claim again")


@group.command()
def retire(context: typer.Context, worker: WorkerArgument, reason: ReasonOption = None) -> None:
    """Mark a worker as gone, until a process registers under its key again."""
    call = call_of(context)
    _change(call, worker, call.client.retire_worker, reason, "is retired")


def _change(call: Call, given: str, act: Callable[..., Worker], reason: str | None, told: str) -> None:
    found = worker_of(call.client, given)
    changed: Any = act(found.uid, reason=reason)
    call.answer(changed, f"Worker {euid.format_euid(euid.WORKER, found.uid)} ({found.worker_key}) {told}.")
