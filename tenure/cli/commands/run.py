"""``tenure run``: workflows and their runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from tenure.cli.arguments import KeyOption, LimitOption, ReasonOption, json_value, time_of
from tenure.cli.call import call_of
from tenure.flow.engine.results import RunResult
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.reading import from_json, from_toml
from tenure.model.errors import InvalidRequest
from tenure.model.euid import parse_euid
from tenure.sdk.client import Tenure
from tenure.sdk.runs import drawn
from tenure.terminal.listing import table
from tenure.terminal.reasons import reasons_told
from tenure.terminal.runs import run_outcome, run_told, runs_told, timeline_told
from tenure.terminal.wording import moment

group = typer.Typer(name="run", help="Runs of workflows: start, look at, steer.", no_args_is_help=True)

RunArgument = Annotated[str, typer.Argument(metavar="RUN", help="EUID of the run, e.g. FX-1T8Z.")]
StepOption = Annotated[str | None, typer.Option("--step", help="Only at this step.")]
CommentOption = Annotated[str | None, typer.Option("--comment", help="Why; kept as evidence.")]
NewKey = Annotated[str | None, typer.Option("--key", help="The key of the new run.")]
Force = Annotated[bool, typer.Option("--force", help="Although irreversible work is done again; needs --reason.")]


@group.command()
def define(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The definition: TOML or JSON.")],
) -> None:
    """Register a version of a workflow; the same one again changes nothing."""
    call = call_of(context)
    row = call.founding_client.define_workflow(_definition(file))
    call.answer(row, f"{row.name} version {row.version}")


@group.command()
def workflows(context: typer.Context) -> None:
    """All versions of all workflows."""
    call = call_of(context)
    found = call.client.workflows_all()
    rows = [
        (
            w.name,
            w.version,
            len(w.definition.get("steps", ())),
            moment(w.created_at),
            moment(w.retired_at) if w.retired_at else "",
        )
        for w in found
    ]
    told = table(["workflow", ">version", ">steps", "defined", "retired"], rows) if rows else "There are no workflows."
    call.answer_each(found, told)


@group.command()
def retire(
    context: typer.Context,
    workflow: Annotated[str, typer.Argument(metavar="WORKFLOW", help="The name of the workflow.")],
    version: Annotated[int, typer.Argument(metavar="VERSION")],
    reason: ReasonOption = None,
) -> None:
    """Take a version out of use; runs that go by it go on."""
    call = call_of(context)
    row = call.client.retire_workflow(workflow, version, reason=reason)
    call.answer(row, f"{row.name} version {row.version} is retired")


@group.command()
def start(
    context: typer.Context,
    workflow: Annotated[str, typer.Argument(metavar="WORKFLOW", help="The name of the workflow.")],
    given: Annotated[str | None, typer.Option("--input", metavar="JSON", help="Its input; @file, - for stdin.")] = None,
    key: Annotated[str | None, typer.Option("--key", help="Names the run: the same key is the same run.")] = None,
    version: Annotated[int | None, typer.Option("--version-number", help="Not the newest, but this one.")] = None,
    root: Annotated[str | None, typer.Option("--root", help="EUID of the subject that it is about.")] = None,
) -> None:
    """Start a run."""
    about = parse_euid(root) if root is not None else None
    value = json_value(given, "--input")
    _answer(context, lambda client: client.start_run(workflow, value, key=key, version=version, root=about))


@group.command("list")
def list_runs(
    context: typer.Context,
    workflow: Annotated[str | None, typer.Option("--workflow", help="Of this workflow.")] = None,
    status: Annotated[
        str | None, typer.Option("--status", help="RUNNING, PAUSED, COMPLETED, FAILED or CANCELED.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="With this key.")] = None,
    since: Annotated[str | None, typer.Option("--since", metavar="TIME", help="Started then or later.")] = None,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="Started before.")] = None,
    before: Annotated[
        str | None, typer.Option("--before", help="The next page: EUID of the last run of this one.")
    ] = None,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="Only those that stand at an approval or a pause.")
    ] = False,
    limit: LimitOption = 50,
) -> None:
    """Runs, the newest first."""
    call = call_of(context)
    found = call.client.runs(
        workflow, status=status.upper() if status else None, key=key, since=time_of(since, "--since"),
        until=time_of(until, "--until"), limit=min(limit, 1000), before=before,
        waiting=waiting,
    )  # fmt: skip
    call.answer_each(found, runs_told(found))


@group.command()
def show(
    context: typer.Context, run: RunArgument,
    seq: Annotated[int | None, typer.Option("--as-of", help="As it was after the fact of that number.")] = None,
) -> None:  # fmt: skip
    """How a run stands: steps, subjects, boundary, children."""
    call = call_of(context)
    if seq is not None:
        past = call.client.run_as_of(run, seq=seq)
        steps = [(name, step.phase, step.iteration) for name, step in past.steps.items()]
        call.answer(
            past, f"{past.workflow} version {past.version}: {past.status}", table(["step", "phase", ">time"], steps)
        )
        return
    snapshot = call.client.inspect_run(run)
    call.answer(snapshot, *run_told(snapshot))


@group.command()
def graph(
    context: typer.Context, run: RunArgument,
    form: Annotated[str, typer.Option("--form", help="mermaid, svg or json.")] = "mermaid",
) -> None:  # fmt: skip
    """A run as a picture: Mermaid text, SVG, or nodes and edges as JSON."""
    call = call_of(context)
    found = call.client.run_graph(run)
    if call.json or form == "json":
        call.document(found)
        return
    typer.echo(drawn(found, form), nl=False)


@group.command()
def timeline(context: typer.Context, run: RunArgument) -> None:
    """What happened to a run, in order."""
    call = call_of(context)
    moments = call.client.run_timeline(run)
    call.answer_each(moments, timeline_told(moments))


@group.command()
def explain(context: typer.Context, run: RunArgument) -> None:
    """Why a run waits or stands, and what can be done."""
    call = call_of(context)
    reasons = call.client.explain_run(run)
    call.answer_each(reasons, *reasons_told(reasons))


@group.command()
def signal(
    context: typer.Context, run: RunArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The signal.")],
    payload: Annotated[str | None, typer.Option("--payload", metavar="JSON", help="What comes with it; @file, -.")] = None,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Send a signal to a run."""
    value = json_value(payload, "--payload")
    _answer(context, lambda client: client.signal_run(run, name, value, idempotency_key=idempotency_key))


@group.command()
def approve(
    context: typer.Context, run: RunArgument, comment: CommentOption = None, step: StepOption = None,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Approve where the run stands."""
    _answer(context, lambda client: client.approve(run, step=step, comment=comment, idempotency_key=idempotency_key))


@group.command()
def reject(
    context: typer.Context, run: RunArgument, comment: CommentOption = None, step: StepOption = None,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Reject where the run stands."""
    _answer(context, lambda client: client.reject(run, step=step, comment=comment, idempotency_key=idempotency_key))


@group.command()
def pause(
    context: typer.Context, run: RunArgument, reason: ReasonOption = None, idempotency_key: KeyOption = None
) -> None:
    """Plan nothing more until it is resumed."""
    _answer(context, lambda client: client.pause_run(run, reason=reason, idempotency_key=idempotency_key))


@group.command()
def resume(
    context: typer.Context, run: RunArgument, reason: ReasonOption = None, step: StepOption = None,
    idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Go on: the whole run, or from the pause step at which it stands."""
    _answer(context, lambda client: client.resume_run(run, reason=reason, step=step, idempotency_key=idempotency_key))


@group.command()
def cancel(
    context: typer.Context, run: RunArgument, reason: ReasonOption = None, idempotency_key: KeyOption = None
) -> None:
    """Stop a run and its children, and undo what can be undone."""
    _answer(context, lambda client: client.cancel_run(run, reason=reason, idempotency_key=idempotency_key))


@group.command()
def retry(
    context: typer.Context, run: RunArgument,
    from_step: Annotated[str | None, typer.Option("--from", help="The first step to do again.")] = None,
    key: NewKey = None, force: Force = False, reason: ReasonOption = None,
) -> None:  # fmt: skip
    """A new run that keeps what this one did before the step that failed."""
    _answer(context, lambda client: client.retry_run(run, from_step=from_step, key=key, force=force, reason=reason))


@group.command()
def replay(
    context: typer.Context, run: RunArgument,
    version: Annotated[int | None, typer.Option("--version-number", help="Not the newest, but this one.")] = None,
    key: NewKey = None, force: Force = False, reason: ReasonOption = None,
) -> None:  # fmt: skip
    """A new run from the input of this one."""
    _answer(context, lambda client: client.replay_run(run, version=version, key=key, force=force, reason=reason))


@group.command()
def migrate(
    context: typer.Context, run: RunArgument,
    version: Annotated[int, typer.Argument(metavar="VERSION", help="The version to go on under.")],
    reason: ReasonOption = None, idempotency_key: KeyOption = None,
) -> None:  # fmt: skip
    """Let a paused run go on under another version of its workflow."""
    _answer(context, lambda client: client.migrate_run(run, version, reason=reason, idempotency_key=idempotency_key))


def _answer(context: typer.Context, ask: Callable[[Tenure], RunResult]) -> None:
    """Ask something of a run, and tell how it stands then."""
    call = call_of(context)
    result = ask(call.client)
    call.answer(result, run_outcome(result))


def _definition(file: Path) -> WorkflowDefinition:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be read: {error.strerror}.", "Check the path.") from None
    except ValueError:
        raise InvalidRequest(f"{file} is no UTF-8 text.", "Save it as UTF-8.") from None
    return from_toml(text) if file.suffix.lower() == ".toml" else from_json(text)
