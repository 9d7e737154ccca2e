"""``tenure deadletter``: what gave up, until somebody decides."""

from __future__ import annotations

from typing import Annotated

import typer

from tenure.cli.arguments import KeyOption, LimitOption, NeededReason, RefOption, subject_of
from tenure.cli.call import call_of
from tenure.model import euid
from tenure.sdk.client import Tenure
from tenure.terminal.listing import table
from tenure.terminal.outcome import outcome
from tenure.terminal.wording import moment, state

group = typer.Typer(name="deadletter", help="Dead letters: what gave up, until somebody decides.", no_args_is_help=True)

LetterArgument = Annotated[
    str | None, typer.Argument(metavar="[DEAD_LETTER]", help="EUID of the dead letter, or of its subject.")
]


@group.command("list")
def list_letters(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="The resolved ones, too.")] = False,
    limit: LimitOption = 50,
) -> None:
    """Dead letters, newest first."""
    call = call_of(context)
    found = call.client.dead_letters(open_only=not everything, limit=limit)
    rows = [
        (euid.format_euid(euid.DEAD_LETTER, r.letter.uid), euid.format_euid(euid.SUBJECT, r.letter.subject), r.name,
         r.letter.queue_key, state(r.letter.resolution_state), moment(r.letter.dead_lettered_at),
         _error(r.error_code or r.letter.error_class, r.error_message))
        for r in found
    ]  # fmt: skip
    columns = ["!letter", "!subject", "name", "queue", "state", "since", "error"]
    call.answer_each(found, table(columns, rows) if rows else "There are no dead letters.")


@group.command()
def requeue(
    context: typer.Context, reason: NeededReason, letter: LetterArgument = None, ref: RefOption = None,
    queue: Annotated[str | None, typer.Option("--queue", help="Another queue.")] = None, idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """The cause is gone: run its subject again, with a fresh count of attempts."""
    call = call_of(context)
    uid = _subject(call.client, letter, ref)
    result = call.client.requeue(uid, queue_key=queue, reason=reason, reopen=True, idempotency_key=idempotency_key)
    call.answer(result, outcome(result))


@group.command()
def ignore(
    context: typer.Context, reason: NeededReason, letter: LetterArgument = None, ref: RefOption = None,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Close it without running its subject again."""
    call = call_of(context)
    uid = _subject(call.client, letter, ref)
    result = call.client.resolve_dead_letter(uid, reason=reason, idempotency_key=idempotency_key)
    call.answer(result, outcome(result))


def _subject(client: Tenure, letter: str | None, ref: str | None) -> int:
    uid = subject_of(client, letter, ref)
    if ref is None:
        found = client.dead_letters(open_only=False, limit=1, before=uid + 1)
        if found and found[0].letter.uid == uid:
            return found[0].letter.subject
    return uid


def _error(code: str, message: str | None) -> str:
    lines = (message or "").strip().splitlines()
    return f"{code}: {lines[-1]}" if lines else code
