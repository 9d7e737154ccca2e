"""``tenure verify``: prove that rows and facts tell the same story."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tenure.cli.arguments import RefOption, subject_of
from tenure.cli.call import Call, call_of
from tenure.cli.exit_codes import ExitCode
from tenure.engine.verify import Report
from tenure.model.errors import InvalidRequest
from tenure.sdk.public_form import public
from tenure.terminal.verification import verification

NAME = "verify"


def run(
    context: typer.Context,
    sample: Annotated[float | None, typer.Option("--sample", help="Only a share of the subjects, 0 to 1.")] = None,
    subject: Annotated[str | None, typer.Option("--subject", help="Only this one: its EUID.")] = None,
    ref: RefOption = None,
    all_tenants: Annotated[bool, typer.Option("--all-tenants", help="Not only the subjects of this tenant.")] = False,
) -> None:
    """Check every thread: no gap, every hash right, and the facts add up to the rows. Exit status 4 if anything diverges."""
    call = call_of(context)
    if sample is not None and not 0 < sample <= 1:
        raise InvalidRequest(f"--sample {sample} is no share.", "Give one above 0 and up to 1, such as 0.1.")
    uid = subject_of(call.client, subject, ref) if subject is not None or ref is not None else None
    report = _checked(call, uid, sample, all_tenants)
    call.answer({"clean": report.clean, **public(report)}, *verification(report))
    if not report.clean:
        raise typer.Exit(ExitCode.DIVERGES)


def _checked(call: Call, uid: int | None, sample: float | None, all_tenants: bool) -> Report:
    columns = (TextColumn("verifying"), BarColumn(), MofNCompleteColumn(), TextColumn("subjects"), TimeElapsedColumn())
    # On stderr, and gone when done: what is piped or kept is the answer alone.
    with Progress(
        *columns, console=call.err, transient=True, disable=call.json or not call.err.is_terminal
    ) as progress:
        bar = progress.add_task("verifying", total=None)
        return call.client.verify(
            subject=uid, sample=sample, everything=all_tenants,
            progress=lambda done, of: progress.update(bar, completed=done, total=of),
        )  # fmt: skip
