"""``tenure queue``: what queues there are, what waits in them, and their policies."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tenure.cli.arguments import LimitOption, NeededReason, existing_queue, json_object
from tenure.cli.call import call_of
from tenure.model import euid
from tenure.model.errors import InvalidRequest
from tenure.model.queue import MUTABLE, Queue
from tenure.sdk.public_form import public
from tenure.terminal.listing import fields, table
from tenure.terminal.wording import age, moment, rate, state

group = typer.Typer(name="queue", help="Queues: policy, never membership.", no_args_is_help=True)

KeyArgument = Annotated[str, typer.Argument(metavar="QUEUE", help="The key of the queue.")]
DisplayName = Annotated[str | None, typer.Option("--display-name", help="What people call it.")]
ManualOnly = Annotated[bool | None, typer.Option("--manual-only/--not-manual-only", help="For people only.")]
Capability = Annotated[list[str] | None, typer.Option("--capability", help="What a worker must have (repeat).")]
Site = Annotated[list[str] | None, typer.Option("--site", help="Site scope (repeat).")]
Platform = Annotated[list[str] | None, typer.Option("--platform", help="Platform scope (repeat).")]
Assay = Annotated[list[str] | None, typer.Option("--assay", help="Assay scope (repeat).")]
LeaseTtl = Annotated[int | None, typer.Option("--lease-ttl", help="Seconds that a lease lasts.")]
MaxAttempts = Annotated[int | None, typer.Option("--max-attempts", help="Attempts before the dead letter.")]
Priority = Annotated[int | None, typer.Option("--dispatch-priority", help="Higher is served first.")]
Retry = Annotated[
    str | None, typer.Option("--retry", metavar="JSON", help='E.g. {"mode": "CONSTANT", "initial_delay_seconds": 5}.')
]
Policy = Annotated[
    str | None, typer.Option("--policy", metavar="JSON", help="Any fields of the policy, as JSON or @file.")
]


@group.command("list")
def list_queues(context: typer.Context) -> None:
    """All queues with what waits, runs, is held and gave up."""
    call = call_of(context)
    queues = call.client.queues()
    counts = {count.queue_key: count for count in call.client.metrics([q.queue_key for q in queues])}
    rows = [
        (q.queue_key, _mode(q), c.queue_depth, age(c.oldest_job_age_seconds), c.active_leases, c.held_count,
         c.dead_letter_count, rate(c.throughput_success_per_minute), c.worker_online_count)
        for q in queues for c in [counts[q.queue_key]]
    ]  # fmt: skip
    columns = ["queue", "mode", ">depth", ">oldest", ">leased", ">held", ">dead", ">done/min", ">workers"]
    call.answer_each(
        ({**public(q), "metrics": public(counts[q.queue_key])} for q in queues),
        table(columns, rows) if rows else "There are no queues yet. Define one: tenure queue define KEY.",
    )


@group.command()
def show(context: typer.Context, key: KeyArgument) -> None:
    """Policy and metrics of one queue."""
    call = call_of(context)
    queue = existing_queue(call.client, key)
    counts = call.client.metrics([key])[0]
    metrics = {name: value for name, value in public(counts).items() if name != "queue_key"}
    told = {
        name: age(value) if name.endswith("_seconds") else (f"{value:.2f}" if isinstance(value, float) else value)
        for name, value in metrics.items()
    }  # fmt: skip
    call.answer(
        {**public(queue), "metrics": metrics},
        _policy_table(queue),
        "",
        fields(told, title="Metrics (rates over 5 minutes)"),
    )


@group.command()
def define(
    context: typer.Context, key: KeyArgument,
    template: Annotated[list[str] | None, typer.Option("--template", help="What it serves; fixed for good (repeat).")] = None,
    display_name: DisplayName = None, manual_only: ManualOnly = None, capability: Capability = None, site: Site = None,
    platform: Platform = None, assay: Assay = None, lease_ttl: LeaseTtl = None, max_attempts: MaxAttempts = None,
    dispatch_priority: Priority = None, retry: Retry = None, policy: Policy = None,
) -> None:  # fmt: skip
    """Define a queue. The same definition again changes nothing."""
    call = call_of(context)
    given = _given(
        display_name,
        manual_only,
        capability,
        site,
        platform,
        assay,
        lease_ttl,
        max_attempts,
        dispatch_priority,
        retry,
        policy,
    )
    if template:
        given["subject_template_codes"] = tuple(template)
        for code in template:
            call.founding_client.define_template(code)
    given.pop("queue_key", None)
    queue = call.founding_client.define_queue(key, **given)
    call.answer(queue, _policy_table(queue))


@group.command()
def update(
    context: typer.Context, key: KeyArgument,
    display_name: DisplayName = None, manual_only: ManualOnly = None, capability: Capability = None, site: Site = None,
    platform: Platform = None, assay: Assay = None, lease_ttl: LeaseTtl = None, max_attempts: MaxAttempts = None,
    dispatch_priority: Priority = None, retry: Retry = None, policy: Policy = None,
    expected_revision: Annotated[int | None, typer.Option(help="Refuse if the queue has changed since.")] = None,
) -> None:  # fmt: skip
    """Change a queue's policy. Key and templates never change."""
    call = call_of(context)
    changes = _given(
        display_name,
        manual_only,
        capability,
        site,
        platform,
        assay,
        lease_ttl,
        max_attempts,
        dispatch_priority,
        retry,
        policy,
    )
    if not changes:
        raise InvalidRequest("Nothing to change was given.", "See the options: tenure queue update --help.")
    if unknown := sorted(set(changes) - MUTABLE):
        raise InvalidRequest(f"{', '.join(unknown)} cannot be changed.", f"What can be: {', '.join(sorted(MUTABLE))}.")
    queue = call.client.update_queue_policy(key, expected_revision=expected_revision, **changes)
    call.answer(queue, _policy_table(queue))


@group.command()
def enable(context: typer.Context, key: KeyArgument) -> None:
    """Let workers claim from a queue again."""
    call = call_of(context)
    queue = call.client.update_queue_policy(key, enabled=True, disabled_reason=None)
    call.answer(queue, f"Queue {queue.queue_key} is enabled.")


@group.command()
def disable(context: typer.Context, key: KeyArgument, reason: NeededReason) -> None:
    """Keep all workers from claiming from a queue. What they hold goes on."""
    call = call_of(context)
    queue = call.client.update_queue_policy(key, enabled=False, disabled_reason=reason)
    call.answer(queue, f"Queue {queue.queue_key} is disabled: nobody claims from it until it is enabled.")


@group.command()
def retire(context: typer.Context, key: KeyArgument, reason: NeededReason) -> None:
    """Retire a queue for good. Its key is free for a replacement."""
    call = call_of(context)
    queue = call.client.retire_queue(key, reason=reason)
    call.answer(queue, f"Queue {queue.queue_key} is retired.")


@group.command()
def items(context: typer.Context, key: KeyArgument, limit: LimitOption = 50) -> None:
    """What waits in a queue, in the order in which it will be taken."""
    call = call_of(context)
    existing_queue(call.client, key)
    found = call.client.queue_items(key, limit=limit)
    rows = [
        (euid.format_euid(euid.SUBJECT, i.envelope.uid), i.name or i.external_ref, state(i.envelope.state), i.envelope.priority,
         i.envelope.attempt_count, moment(i.eligible_at))
        for i in found
    ]  # fmt: skip
    columns = ["!subject", "name", "!state", ">prio", ">attempts", "!ready since"]
    call.answer_each(found, table(columns, rows) if rows else f"Nothing is visible in queue {key}.")


def _mode(queue: Queue) -> str:
    return "disabled" if not queue.enabled else "people" if queue.manual_only else "open"


def _policy_table(queue: Queue) -> Any:
    policy = {name: value for name, value in queue.policy().items() if value not in ([], (), None, "")}
    return fields({"euid": euid.format_euid(euid.QUEUE, queue.uid), "revision": queue.revision, **policy})


def _given(
    display_name: str | None, manual_only: bool | None, capability: list[str] | None, site: list[str] | None,
    platform: list[str] | None, assay: list[str] | None, lease_ttl: int | None, max_attempts: int | None,
    dispatch_priority: int | None, retry: str | None, policy: str | None,
) -> dict[str, Any]:  # fmt: skip
    lists = {
        "required_worker_capabilities": capability, "site_scope": site, "platform_scope": platform, "assay_scope": assay,
    }  # fmt: skip
    plain = {
        "display_name": display_name, "manual_only": manual_only, "lease_ttl_seconds": lease_ttl,
        "max_attempts_default": max_attempts, "dispatch_priority": dispatch_priority,
        "retry_policy": json_object(retry, "--retry") if retry is not None else None,
    }  # fmt: skip
    given = json_object(policy, "--policy")
    given |= {name: tuple(values) for name, values in lists.items() if values}
    return given | {name: value for name, value in plain.items() if value is not None}
