"""``tenure subject``: submit work, look at it, ask why it waits, steer it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tenure.cli.arguments import (
    KeyOption,
    NeededReason,
    ReasonOption,
    RefOption,
    SubjectArgument,
    json_object,
    json_value,
    subject_of,
    time_of,
)  # fmt: skip
from tenure.cli.call import call_of
from tenure.model.errors import InvalidRequest, NotFound
from tenure.model.euid import parse_euid
from tenure.sdk.client import Tenure
from tenure.sdk.person import present
from tenure.sdk.public_form import edge_ends, public
from tenure.terminal.claim import claim_told
from tenure.terminal.listing import table
from tenure.terminal.outcome import outcome
from tenure.terminal.reasons import reasons_told
from tenure.terminal.runs import run_outcome
from tenure.terminal.standing import standing_told
from tenure.terminal.timeline import timeline

group = typer.Typer(name="subject", help="Subjects: anything that work is done on.", no_args_is_help=True)

Ready = Annotated[
    str | None, typer.Option("--ready-at", metavar="TIME", help="Not before: 2030-01-31T09:00Z, or +10m.")
]


@group.command()
def submit(
    context: typer.Context,
    queue: Annotated[str | None, typer.Option("--queue", help="The queue to put it before.")] = None,
    properties: Annotated[str | None, typer.Option("--properties", metavar="JSON", help="Its data; @file, - for stdin.")] = None,
    action: Annotated[str | None, typer.Option("--action", help="The task that is to run.")] = None,
    template: Annotated[str, typer.Option("--template", help="What kind of thing it is.")] = "task/job/1.0",
    name: Annotated[str | None, typer.Option("--name", help="What people call it.")] = None,
    ref: Annotated[str | None, typer.Option("--ref", help="An identifier of its own, unique per tenant.")] = None,
    priority: Annotated[int, typer.Option("--priority", help="Higher first; -32768 to 32767.")] = 0,
    ready_at: Ready = None,
    due_at: Annotated[str | None, typer.Option("--due-at", metavar="TIME", help="Earlier first.")] = None,
    max_attempts: Annotated[int | None, typer.Option("--max-attempts", help="Attempts before the dead letter.")] = None,
    slots: Annotated[int, typer.Option("--slots", help="How many workers may hold it at once.")] = 1,
    site: Annotated[str | None, typer.Option("--site")] = None,
    platform: Annotated[str | None, typer.Option("--platform")] = None,
    assay: Annotated[str | None, typer.Option("--assay")] = None,
    correlation_id: Annotated[str | None, typer.Option("--correlation-id", help="Ties it to other systems.")] = None,
    parent: Annotated[list[str] | None, typer.Option("--parent", help="EUID of a subject it comes from (repeat).")] = None,
    pending: Annotated[bool, typer.Option("--pending", help="Create it, but leave it PENDING.")] = False,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Create a subject and put it before a queue."""
    call = call_of(context)
    given: dict[str, Any] = {
        "queue_key": queue, "next_action_key": action, "name": name, "external_ref": ref, "max_attempts": max_attempts,
        "site": site, "platform": platform, "assay": assay, "correlation_id": correlation_id,
        "idempotency_key": idempotency_key, "ready_at": time_of(ready_at, "--ready-at"), "due_at": time_of(due_at, "--due-at"),
    }  # fmt: skip
    result = call.client.submit(
        template=template, properties=json_object(properties, "--properties"), priority=priority, slots=slots,
        parents=tuple(parse_euid(each) for each in parent or ()), ready=not pending,
        **{field: value for field, value in given.items() if value is not None},
    )  # fmt: skip
    call.answer(result, outcome(result))


@group.command()
def claim(
    context: typer.Context, subject: SubjectArgument = None, ref: RefOption = None,
    queue: Annotated[str | None, typer.Option("--queue", help="Where from; the first in it, unless a subject is named.")] = None,
    ttl: Annotated[int | None, typer.Option("--ttl", min=1, help="Seconds that the lease lasts, unless it is renewed.")] = None,
    start: Annotated[bool, typer.Option("--start/--no-start", help="Begin the work at once.")] = True,
    worker: Annotated[str | None, typer.Option("--worker", help="As another worker_key than the actor's.")] = None,
    capability: Annotated[list[str] | None, typer.Option("--capability", help="What you can do (repeat); kept.")] = None,
    site: Annotated[list[str] | None, typer.Option("--site", help="Where you are (repeat); kept.")] = None,
) -> None:  # fmt: skip
    """Take a subject as a person: prints the lease and the token that proves it, once."""
    call = call_of(context)
    uid = subject_of(call.client, subject, ref) if subject is not None or ref is not None else None
    key = queue if queue is not None else _queue_of(call.client, uid)
    person = present(call.client, worker or call.client.settings.actor, capability or (), site or ())
    taken = call.client.claim(person, key, subject=uid, ttl_seconds=ttl, start=start)
    if not taken:
        raise NotFound(f"Nothing waits in {key!r} that you may take.", f"Look: tenure queue items {key}.")
    told = public(taken[0].item) | {"token": taken[0].token.reveal()}
    call.answer(told, *claim_told(taken[0]))


def _queue_of(client: Tenure, subject: int | None) -> str:
    if subject is None:
        raise InvalidRequest("Say where from, or what.", "Give --queue QUEUE, or a subject.")
    found = client.inspect(subject).situation.thread.envelope.next_queue_key
    if found is None:
        raise InvalidRequest(
            "The subject is before no queue.", "Put it before one: tenure subject requeue --queue QUEUE."
        )
    return found


@group.command()
def show(context: typer.Context, subject: SubjectArgument = None, ref: RefOption = None) -> None:
    """How a subject stands: envelope, leases, holds, dead letter, data, and why it is or is not moving."""
    call = call_of(context)
    standing = call.client.inspect(subject_of(call.client, subject, ref))
    call.answer(standing, *standing_told(standing))


@group.command()
def why(context: typer.Context, subject: SubjectArgument = None, ref: RefOption = None) -> None:
    """Exactly why a subject is not moving, or who could take it."""
    call = call_of(context)
    reasons = call.client.why(subject_of(call.client, subject, ref))
    call.answer([reason.as_dict() for reason in reasons], *reasons_told(reasons))


@group.command()
def history(context: typer.Context, subject: SubjectArgument = None, ref: RefOption = None) -> None:
    """Everything that happened to a subject, in order."""
    call = call_of(context)
    found = call.client.history(subject_of(call.client, subject, ref))
    workers = {worker.uid: worker.worker_key for worker in call.client.workers()}
    call.answer(found, *timeline(found, workers, verbose=call.verbose))


@group.command()
def hold(
    context: typer.Context, reason: NeededReason, subject: SubjectArgument = None, ref: RefOption = None,
    code: Annotated[str, typer.Option("--code", help="What kind of hold.")] = "OPERATOR", idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Stop the line for a subject. A lease on it ends; work that goes on is refused when it reports."""
    call = call_of(context)
    uid = subject_of(call.client, subject, ref)
    result = call.client.hold(uid, reason=reason, hold_code=code, idempotency_key=idempotency_key)
    call.answer(result, outcome(result))


@group.command()
def release(
    context: typer.Context, subject: SubjectArgument = None, ref: RefOption = None,
    hold: Annotated[str | None, typer.Option("--hold", help="EUID of the hold, where there are several.")] = None,
    reason: ReasonOption = None, idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Release a hold."""
    call = call_of(context)
    uid = subject_of(call.client, subject, ref)
    result = call.client.release_hold(uid, hold=hold, reason=reason, idempotency_key=idempotency_key)
    call.answer(result, outcome(result))


@group.command()
def requeue(
    context: typer.Context, subject: SubjectArgument = None, ref: RefOption = None,
    queue: Annotated[str | None, typer.Option("--queue", help="Another queue.")] = None,
    action: Annotated[str | None, typer.Option("--action", help="Another task.")] = None,
    priority: Annotated[int | None, typer.Option("--priority", help="Another priority.")] = None,
    ready_at: Ready = None, reason: ReasonOption = None,
    reopen: Annotated[bool, typer.Option("--reopen", help="Also where it is COMPLETED, CANCELED or FAILED_TERMINAL.")] = False,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Route a subject (again): READY in its queue, or in another, with a fresh count of attempts."""
    call = call_of(context)
    uid = subject_of(call.client, subject, ref)
    result = call.client.requeue(
        uid, queue_key=queue, next_action_key=action, priority=priority, ready_at=time_of(ready_at, "--ready-at"),
        reason=reason, reopen=reopen, idempotency_key=idempotency_key,
    )  # fmt: skip
    call.answer(result, outcome(result))


@group.command()
def cancel(
    context: typer.Context, subject: SubjectArgument = None, ref: RefOption = None, reason: ReasonOption = None,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """End a subject for good."""
    call = call_of(context)
    uid = subject_of(call.client, subject, ref)
    result = call.client.cancel(uid, reason=reason, idempotency_key=idempotency_key)
    call.answer(result, outcome(result))


@group.command()
def signal(
    context: typer.Context, subject: SubjectArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The signal.")],
    payload: Annotated[str | None, typer.Option("--payload", metavar="JSON", help="What comes with it; @file, -.")] = None,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Send a signal to the code of a job, which waits for it by wait_event."""
    call = call_of(context)
    uid = subject_of(call.client, subject, None)
    result = call.client.signal_job(uid, name, json_value(payload, "--payload"), idempotency_key=idempotency_key)
    call.answer(result, run_outcome(result))


@group.command()
def lineage(context: typer.Context, subject: SubjectArgument = None, ref: RefOption = None) -> None:
    """The edges at a subject (or at any other object): where it comes from, what came of it."""
    call = call_of(context)
    edges = call.client.lineage(subject_of(call.client, subject, ref))
    rows = [(parent, edge.relation, child) for edge in edges for parent, child in [edge_ends(edge)]]
    call.answer_each(edges, table(["!parent", "relation", "!child"], rows) if rows else "It has no edges.")
