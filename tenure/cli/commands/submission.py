"""``tenure submission``: what was submitted to management nodes, and how it stands (S5)."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from tenure.cli.arguments import KeyOption, LimitOption, ReasonOption, json_object
from tenure.cli.call import call_of
from tenure.remote.model.fields import ProjectionState
from tenure.remote.model.shown import SubmissionHistoryShown, SubmissionStanding
from tenure.terminal.listing import fields, table
from tenure.terminal.wording import moment
from tenure.wording import border
from tenure.wording.values import refusal_code

group = typer.Typer(name="submission", help="Submissions to management nodes.", no_args_is_help=True)

SubmissionArgument = Annotated[str, typer.Argument(metavar="SUBMISSION", help="Its id, e.g. JX-YGJ24.")]
_STYLES = {
    "queued": "cyan",
    "running": "blue",
    "succeeded": "green",
    "failed": "red",
    "accepted": "cyan",
    "completed": "green",
}


@group.command()
def submit(
    context: typer.Context,
    command: Annotated[str, typer.Argument(metavar="COMMAND", help="A SubmitJobCommand: JSON, @FILE, or - for stdin.")],
) -> None:
    """Submit a job to a management node. The same command again is answered as the first time."""
    call = call_of(context)
    given = json_object(command, "COMMAND")
    given.setdefault("tenant_id", call.client.settings.tenant)
    accepted = call.client.submit_job(given)
    call.answer(
        accepted, f"{accepted.submission_id} for job {accepted.job_id}, accepted {moment(accepted.accepted_at)}.", "",
        f"Next: tenure submission show {accepted.submission_id}",
    )  # fmt: skip


@group.command("list")
def list_submissions(
    context: typer.Context,
    workspace: Annotated[str | None, typer.Option("--workspace", help="Of this workspace only.")] = None,
    job: Annotated[str | None, typer.Option("--job", help="Of this job only.")] = None,
    node: Annotated[str | None, typer.Option("--node", help="Of this management node only.")] = None,
    state: Annotated[ProjectionState | None, typer.Option("--state", help="That stand so for the product.")] = None,
    before: Annotated[str | None, typer.Option("--before", metavar="SUBMISSION", help="Older than this one.")] = None,
    limit: LimitOption = 50,
) -> None:  # fmt: skip
    """Submissions, the newest first."""
    call = call_of(context)
    found = call.client.submissions(
        workspace_id=workspace, job_id=job, node=node, projection_state=state, before=before, limit=limit
    )
    rows = [
        (s.submission_id, _state(s.projection_state), s.job_id, s.workspace_id, s.management_node_id, moment(s.accepted_at))
        for s in found
    ]  # fmt: skip
    call.answer_each(
        found,
        table(["!submission", "!projection", "job", "workspace", "node", "!accepted"], rows) if rows
        else "There are no such submissions.",
    )  # fmt: skip


@group.command()
def show(context: typer.Context, submission: SubmissionArgument) -> None:
    """A submission: what the product was told last, and its executions."""
    call = call_of(context)
    found = call.client.submission(submission)
    call.answer(found, *_shown(found), "", f"Why it does not move: tenure subject why {found.subject}")


@group.command()
def history(context: typer.Context, submission: SubmissionArgument) -> None:
    """What crossed the border: events received, projections sent, what was refused or repeated."""
    call = call_of(context)
    found = call.client.submission_history(submission)
    call.answer(found, *_told(found))


@group.command()
def cancel(
    context: typer.Context,
    submission: SubmissionArgument,
    reason: ReasonOption = None,
    idempotency_key: KeyOption = None,
) -> None:
    """Take a submission back; its node ends the job at its next poll."""
    call = call_of(context)
    found = call.client.cancel_submission(submission, reason=reason, idempotency_key=idempotency_key)
    call.answer(found, f"{found.submission_id} is canceled; {found.management_node_id} ends its job.")


def _state(value: Any) -> Text:
    return Text(str(value), style=_STYLES.get(str(value), ""))


def _shown(found: SubmissionStanding) -> list[RenderableType]:
    values: dict[str, Any] = {
        "projection": _state(found.projection_state), "says": found.display_message or "", "job": found.job_id,
        "workspace": found.workspace_id, "node": found.management_node_id, "subject": found.subject,
        "accepted": moment(found.accepted_at), "trace": found.trace_id,
        "placement": ", ".join(f"{name} {value}" for name, value in found.placement.items()) or "the scheduler's defaults",
    }  # fmt: skip
    if found.projection_round > 1:
        values["round"] = found.projection_round
    if found.result_ref is not None:
        values["results"] = found.result_ref["output_uri"]
    if found.failure is not None:
        values["failure"] = f"{found.failure['code']}: {found.failure['message']}"
    rows = [
        (e.number, _state(e.state or "handed out"), e.scheduler_ref.slurm_job_id or "", e.execution_id, e.status_detail or "",
         "" if e.wanted or e.ended_at else "to be ended")
        for e in found.executions
    ]  # fmt: skip
    listed: list[RenderableType] = [fields(values, title=found.submission_id)]
    if rows:
        listed += ["", table([">#", "!state", "Slurm job", "execution", "says", ""], rows)]
    left = {f"output of {e.number}": e.result_ref["output_uri"] for e in found.executions if e.result_ref is not None}
    if left:
        listed += ["", fields(left)]
    return listed


def _told(found: SubmissionHistoryShown) -> list[RenderableType]:
    rows = [(e.seq, moment(e.at), border.kind(e.type), border.sentence(e.type, e.data), e.actor) for e in found.entries]
    listed: list[RenderableType] = [table([">#", "!time", "!", "what", "by"], rows, title=found.submission_id)]
    if found.refusals:
        refused = [(moment(r.at), refusal_code(r.code), r.message, r.actor) for r in found.refusals]
        listed += ["", table(["!refused or repeated", "!code", "what", "by"], refused)]
    return listed
