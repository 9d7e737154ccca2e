"""``tenure agent``: the program of a management node, which takes submissions to its scheduler (design 04)."""

# The agent's parts are imported where they are used: no other command needs its HTTP client and its store.
# ruff: noqa: PLC0415

from __future__ import annotations

import logging
import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from tenure.agent.settings import AgentSettings, Kind, load_settings
from tenure.cli.call import Call, call_of
from tenure.cli.logs import log_to
from tenure.model.errors import Conflict, InvalidRequest
from tenure.sdk.http.address import Address

#: Seconds between two looks at what is left, and at whether the server knows.
_DRAIN_LOOK, _HEARD_LOOK = 2.0, 0.2

group = typer.Typer(
    name="agent", help="A management node's agent: takes submissions to its scheduler.", no_args_is_help=True
)

NodeOption = Annotated[str | None, typer.Option("--node", help="The name of the node, as `tenure node define` has it.")]
ConfigOption = Annotated[Path | None, typer.Option("--config", help="Its settings: agent.toml.")]
UrlOption = Annotated[
    str | None, typer.Option("--url", envvar="TENURE_URL", help="The server, such as https://tenure.example.org.")
]
TokenOption = Annotated[Path | None, typer.Option("--token-file", help="Where its token is, else in TENURE_TOKEN.")]
FolderOption = Annotated[
    Path | None, typer.Option("--state-folder", help="What it keeps; else /var/lib/tenure-agent/NODE.")
]
ExecutionArgument = Annotated[str, typer.Argument(metavar="EXECUTION_ID", help="The id of the execution.")]


@group.command()
def local(
    context: typer.Context, node: NodeOption = None, config: ConfigOption = None, url: UrlOption = None,
    token_file: TokenOption = None, state_folder: FolderOption = None,
) -> None:  # fmt: skip
    """Run submissions as processes of this machine, until SIGTERM. Jobs go on when the agent stops."""
    _run(context, Kind.LOCAL, node, config, url, token_file, state_folder)


@group.command()
def slurm(
    context: typer.Context, node: NodeOption = None, config: ConfigOption = None, url: UrlOption = None,
    token_file: TokenOption = None, state_folder: FolderOption = None,
) -> None:  # fmt: skip
    """Run submissions on Slurm, until SIGTERM. Jobs go on when the agent stops."""
    _run(context, Kind.SLURM, node, config, url, token_file, state_folder)


@group.command()
def aiida(
    context: typer.Context, node: NodeOption = None, config: ConfigOption = None, url: UrlOption = None,
    token_file: TokenOption = None, state_folder: FolderOption = None,
) -> None:  # fmt: skip
    """Run submissions as CalcJobs of AiiDA, until SIGTERM. Jobs go on when the agent stops."""
    _run(context, Kind.AIIDA, node, config, url, token_file, state_folder)


@group.command("check")
def check_agent(
    context: typer.Context, node: NodeOption = None, config: ConfigOption = None, url: UrlOption = None,
    token_file: TokenOption = None, state_folder: FolderOption = None,
    kind: Annotated[Kind | None, typer.Option("--kind", help="Which scheduler; else as agent.toml says.")] = None,
) -> None:  # fmt: skip
    """See that settings, folders, payload store, scheduler, server and token are as an agent needs them."""
    from tenure.agent.checking import Finding, check
    from tenure.cli.agent_told import checked_told

    call = call_of(context)
    settings = load_settings(config, node=node, kind=kind, url=url, token_file=token_file, state_folder=state_folder)
    findings: list[Finding] = []
    for finding in check(settings, lambda: _address(settings)):
        findings.append(finding)
        call.say(checked_told(finding))
    if call.json:
        call.document({"fine": all(finding.fine for finding in findings), "findings": findings})
    if not all(finding.fine for finding in findings):
        raise typer.Exit(1)


@group.command()
def bell(
    context: typer.Context, node: NodeOption = None, config: ConfigOption = None, state_folder: FolderOption = None
) -> None:  # fmt: skip
    """Print the script by which Slurm's Prolog and Epilog tell the agent at once that a job begins or ends."""
    from tenure.agent.doorbell import script

    call = call_of(context)
    settings = load_settings(config, node=node, state_folder=state_folder, **({} if config else {"kind": Kind.SLURM}))
    user = settings.folder.stat().st_uid if settings.folder.exists() else os.geteuid()
    told = script(settings.bell, user)
    if call.json:
        call.document({"bell": str(settings.bell), "script": told})
    else:
        typer.echo(told, nl=False)


@group.command()
def status(
    context: typer.Context, node: NodeOption = None, config: ConfigOption = None, state_folder: FolderOption = None
) -> None:
    """How the agent of this machine stands: executions, events that wait or were refused, what needs somebody."""
    from tenure.agent.looking import look
    from tenure.cli.agent_told import standing_told

    call = call_of(context)
    found = look(_folder(node, config, state_folder))
    call.answer(found, *standing_told(found))


@group.command()
def drain(
    context: typer.Context, node: NodeOption = None, config: ConfigOption = None, state_folder: FolderOption = None,
    off: Annotated[bool, typer.Option("--off", help="Take work again.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until all that it has is over and told.")] = False,
) -> None:  # fmt: skip
    """Take nothing new, and finish what is there. It stays so over restarts, until `drain --off`."""
    from tenure.agent.requests import DRAIN, ask

    call = call_of(context)
    folder = _folder(node, config, state_folder)
    ask(folder, DRAIN, "off" if off else "on")
    running = _drained(call, folder) if wait and not off else True
    nothing_new = "It takes nothing new." if running else "It takes nothing new when it is started: no agent runs here."
    call.answer({"draining": not off}, "It takes work again." if off else nothing_new)


@group.command()
def resend(
    context: typer.Context, node: NodeOption = None, config: ConfigOption = None, state_folder: FolderOption = None
) -> None:
    """Send the events again that the server refused, once the reason is gone."""
    from tenure.agent.requests import RESEND, ask

    call = call_of(context)
    ask(_folder(node, config, state_folder), RESEND)
    call.answer({"resending": True}, "They are sent again.")


@group.command()
def conclude(
    context: typer.Context, execution_id: ExecutionArgument,
    reason: Annotated[str, typer.Option("--reason", help="How it ended, and how you know.")],
    retryable: Annotated[bool, typer.Option("--retryable", help="The same may be tried again.")] = False,
    node: NodeOption = None, config: ConfigOption = None, state_folder: FolderOption = None,
) -> None:  # fmt: skip
    """Say that a job is over of which its scheduler will not tell any more, or whose results cannot be kept: it fails."""
    from tenure.agent.requests import ask_to_conclude

    call = call_of(context)
    ask_to_conclude(_folder(node, config, state_folder), execution_id, reason, retryable=retryable)
    call.answer({"concluding": execution_id}, "The agent reports it as failed.")


def _run(
    context: typer.Context, kind: Kind, node: str | None, config: Path | None, url: str | None, token_file: Path | None,
    state_folder: Path | None,
) -> None:  # fmt: skip
    from tenure.agent.adapters import scheduler_for
    from tenure.agent.agent import Agent, run_until_signal

    call = call_of(context)
    settings = load_settings(config, node=node, kind=kind, url=url, token_file=token_file, state_folder=state_folder)
    _log(call)
    agent = Agent(settings, _address(settings), scheduler_for(settings))
    run_until_signal(agent)
    call.answer({"event": "stopped"}, "Stopped. Jobs go on.")


def _log(call: Call) -> None:
    log_to(call)
    logging.getLogger("tenure.agent.event").setLevel(logging.INFO)
    logging.getLogger("httpx").setLevel(logging.WARNING)


def _address(settings: AgentSettings) -> Address:
    if not settings.url:
        raise InvalidRequest("The server is not named.", "Give url in agent.toml, --url, or TENURE_URL.")
    if settings.token_file is not None:
        return Address(settings.url, token_file=settings.token_file)
    return Address(settings.url, os.environ.get("TENURE_TOKEN"), os.environ.get("TENURE_TOKEN_FILE"))


def _folder(node: str | None, config: Path | None, state_folder: Path | None) -> Path:
    given: dict[str, Any] = {"node": node, "state_folder": state_folder}
    if config is None:
        if state_folder is not None:
            return state_folder
        if node is None:
            raise InvalidRequest("Which agent is not said.", "Give --node, --config or --state-folder.")
        given["kind"] = Kind.LOCAL  # of no account for the folder
    return load_settings(config, **given).folder


def _drained(call: Call, folder: Path) -> bool:
    """Wait until nothing new can come and nothing is left; whether an agent runs. Raises Conflict where it is to work again."""
    from tenure.agent.looking import draining

    while (found := draining(folder)).left or not found.heard:
        if not found.asked:
            raise Conflict(
                "It is to take work again: somebody asked for that meanwhile.", "Ask for `tenure agent drain` again."
            )
        call.say(f"{found.left:,} left." if found.heard else "The server has not heard of it yet.")
        time.sleep(_DRAIN_LOOK if found.heard else _HEARD_LOOK)
    return found.running
