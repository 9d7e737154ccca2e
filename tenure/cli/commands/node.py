"""``tenure node``: management nodes, which run what is submitted to them (S5)."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.text import Text

from tenure.cli.arguments import json_object
from tenure.cli.call import Call, call_of
from tenure.cli.commands import token
from tenure.model.errors import InvalidRequest
from tenure.remote.model.shown import NodeShown
from tenure.terminal.listing import fields, table
from tenure.terminal.wording import moment, state

group = typer.Typer(name="node", help="Management nodes: they run what is submitted to them.", no_args_is_help=True)

NodeArgument = Annotated[str, typer.Argument(metavar="NODE", help="Its name: management_node_id in contracts.")]
_NUMBERS = frozenset({"max_walltime_seconds", "max_cpu", "max_memory_mib"})
_LISTS = frozenset({"accounts", "qos_allowed"})


@group.command()
def define(
    context: typer.Context, node: NodeArgument,
    queue: Annotated[list[str] | None, typer.Option(
        "--queue", metavar="NAME[=FIELD:VALUE,...]",
        help="A queue_name and what it means: normal=partition:cpu,account:lab,max_walltime_seconds:86400 (repeat).",
    )] = None,
    spec: Annotated[str | None, typer.Option("--spec", metavar="JSON", help="The whole definition: JSON, @FILE or -.")] = None,
    principal: Annotated[str | None, typer.Option("--principal", help="Who may poll and report for it (agent:NODE).")] = None,
    silent_after: Annotated[int | None, typer.Option("--silent-after", metavar="SECONDS", help="Without a poll (120).")] = None,
    lease: Annotated[int | None, typer.Option("--lease", metavar="SECONDS", help="Then it is handed out anew (300).")] = None,
    max_attempts: Annotated[int | None, typer.Option("--max-attempts", help="Executions of a submission at most (3).")] = None,
) -> None:  # fmt: skip
    """Define a management node, or change it to just this. Makes its queue, its worker and its principal."""
    call = call_of(context)
    given = json_object(spec, "--spec")
    queues = dict(given.get("queues") or {}) | dict(map(_queue, queue or ()))
    if not queues:
        raise InvalidRequest("A node has at least one queue.", "Give --queue NAME=partition:PARTITION, or --spec.")
    values = {"silent_after_seconds": silent_after, "lease_seconds": lease, "max_attempts": max_attempts}
    values = {name: value for name, value in values.items() if value is not None}
    made = call.founding_client.define_node(node, principal=principal, **given | values | {"queues": queues})
    call.answer(
        made, f"{made.node} ({made.euid}): {', '.join(sorted(made.spec.queues))}. Its queue is {made.queue_key}.", "",
        f"Next: tenure node token {made.node}, and on the node: tenure agent slurm --node {made.node}.",
    )  # fmt: skip


@group.command("list")
def list_nodes(context: typer.Context) -> None:
    """All management nodes, and whether they live."""
    call = call_of(context)
    found = call.client.nodes()
    rows = [
        (n.node, _standing(n), _polled(n), n.holding, n.scheduler or "", ", ".join(sorted(n.spec.queues)))
        for n in found
    ]
    call.answer_each(
        found,
        table(["!node", "!stands", "!last poll", ">holds", "scheduler", "queues"], rows) if rows
        else "There are no management nodes. Define one: tenure node define NODE --queue normal=partition:cpu.",
    )  # fmt: skip


@group.command()
def show(context: typer.Context, node: NodeArgument) -> None:
    """A management node: how its queues map, and what its last poll said."""
    call = call_of(context)
    found = call.client.node(node)
    mapping = table(
        ["!queue_name", "partition", "account", "qos", ">wall time s", ">cores", ">MiB"],
        [
            (name, q.partition or "default", _allowed(q.account, q.accounts), _allowed(q.qos, q.qos_allowed),
             q.max_walltime_seconds or "any", q.max_cpu or "any", q.max_memory_mib or "any")
            for name, q in sorted(found.spec.queues.items())
        ],
    )  # fmt: skip
    call.answer(found, fields(_fields(found), title=found.node), "", mapping)


@group.command("token")
def make_token(
    context: typer.Context, node: NodeArgument,
    expires: Annotated[str, typer.Option("--expires", metavar="TIME", help="When it ends: +30d, or a time with zone.")] = "+365d",
) -> None:  # fmt: skip
    """Create an access token for the node's agent and print its secret, this once."""
    call: Call = call_of(context)
    found = call.client.node(node)
    token.create(context, found.principal, label=f"agent of {found.node}", role=None, expires=expires)


def _queue(given: str) -> tuple[str, dict[str, Any]]:
    name, _, rest = given.partition("=")
    values: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        field, colon, value = part.partition(":")
        if not colon or not value:
            raise InvalidRequest(
                f"--queue: {part!r} is no FIELD:VALUE.", "Give one like normal=partition:cpu,account:lab."
            )
        if field in _NUMBERS and not value.isdecimal():
            raise InvalidRequest(f"--queue: {field} is a number.", f"Give one like {field}:3600.")
        values[field] = int(value) if field in _NUMBERS else value.split("+") if field in _LISTS else value
    return name, values


def _allowed(default: str | None, others: tuple[str, ...]) -> str:
    return ", ".join([default or "default", *others])


def _polled(node: NodeShown) -> str:
    return moment(node.polled_at) if node.polled_at else "never"


def _standing(node: NodeShown) -> Text:
    if node.silent:
        return Text("silent", style="red")
    if node.scheduler_problem:
        return Text("problem", style="red")
    return state("DRAINING" if node.draining else "ONLINE")


def _fields(node: NodeShown) -> dict[str, Any]:
    problem = {}
    if node.scheduler_problem and node.problem_since is not None:
        problem = {"problem": f"{node.scheduler_problem} (since {moment(node.problem_since)})"}
    if node.job_problem:
        problem["a job of it"] = node.job_problem
    return {
        "node": f"{node.node} ({node.euid})", "stands": _standing(node),
        "last poll": _polled(node), "holds": f"{node.holding} executions",
        "scheduler": node.scheduler or "unknown", **problem, "agent": node.agent_id or "none yet",
        "principal": node.principal, "queue": node.queue_key, "silent after": f"{node.spec.silent_after_seconds} s",
        "lease": f"{node.spec.lease_seconds} s", "attempts": node.spec.max_attempts,
    }  # fmt: skip
