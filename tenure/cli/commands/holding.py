"""What the holder of a lease says of it, by its token: ``tenure lease start|renew|complete|fail|release``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from tenure.cli.arguments import KeyOption, ReasonOption, existing_lease, json_value
from tenure.cli.call import Call, call_of
from tenure.model.errors import InvalidRequest
from tenure.model.states import ErrorClass
from tenure.terminal.outcome import outcome

LeaseArgument = Annotated[str, typer.Argument(metavar="LEASE", help="EUID of the lease, e.g. LX-1T8Z.")]
TokenOption = Annotated[
    str, typer.Option("--token", envvar="TENURE_LEASE_TOKEN", help="What the claim printed; proves who holds it.")
]  # fmt: skip


def start(context: typer.Context, lease: LeaseArgument, token: TokenOption) -> None:
    """Begin the work under a lease that was claimed with --no-start."""
    call = call_of(context)
    _answer(call, call.client.start(**_held(call, lease, token)))


def renew(
    context: typer.Context, lease: LeaseArgument, token: TokenOption,
    ttl: Annotated[int | None, typer.Option("--ttl", min=1, help="Seconds from now.")] = None,
) -> None:  # fmt: skip
    """Hold on to a lease."""
    call = call_of(context)
    _answer(call, call.client.renew(**_held(call, lease, token), ttl_seconds=ttl))


def complete(
    context: typer.Context, lease: LeaseArgument, token: TokenOption,
    result: Annotated[str | None, typer.Option("--result", metavar="JSON", help="What came of it; @file, - for stdin.")] = None,
    next_queue: Annotated[str | None, typer.Option("--next-queue", help="Where the subject goes on.")] = None,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Report the work as done."""
    call = call_of(context)
    given = {"next_queue_key": next_queue, "idempotency_key": idempotency_key}
    fields = {name: value for name, value in given.items() if value is not None}
    if result is not None:
        fields["result"] = json_value(result, "--result")
    _answer(call, call.client.complete(**_held(call, lease, token), **fields))


def fail(
    context: typer.Context, lease: LeaseArgument, token: TokenOption,
    message: Annotated[str, typer.Option("--message", help="What went wrong; kept as evidence.")],
    permanent: Annotated[bool, typer.Option("--permanent", help="Trying again would not help: to the dead letters.")] = False,
    error_class: Annotated[str | None, typer.Option("--class", help="The class of S1 8.4, instead: TRANSIENT_SYSTEM ...")] = None,
    code: Annotated[str | None, typer.Option("--code", help="A code for the kind of error.")] = None,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Report the work as failed; it is tried again as the queue's policy says, unless --permanent."""
    call = call_of(context)
    if permanent and error_class is not None:
        raise InvalidRequest("--permanent and --class say the same thing.", "Give one of them.")
    plain = ErrorClass.PERMANENT_STATE if permanent else ErrorClass.TRANSIENT_SYSTEM
    given = {"error_code": code, "idempotency_key": idempotency_key}
    fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    held = _held(call, lease, token)
    _answer(call, call.client.fail(**held, error_class=error_class or plain, error_message=message, **fields))


def release(context: typer.Context, lease: LeaseArgument, token: TokenOption, reason: ReasonOption = None) -> None:
    """Give the work back undone."""
    call = call_of(context)
    fields = {"reason": reason} if reason is not None else {}
    _answer(call, call.client.release_lease(**_held(call, lease, token), **fields))


def _held(call: Call, lease: str, token: str) -> dict[str, Any]:
    attempt = existing_lease(call.client, lease).attempt
    return {"lease": attempt.uid, "worker": attempt.worker, "token": token}


def _answer(call: Call, result: Any) -> None:
    call.answer(result, outcome(result))
