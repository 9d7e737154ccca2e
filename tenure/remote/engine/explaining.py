"""Why a submission does not move: what is known of its node, beside the kernel's reasons (decision 13)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from tenure.engine.caller import Caller
from tenure.model.json_text import instant
from tenure.model.thread import SubjectThread
from tenure.model.visibility import Reason
from tenure.remote.model.fields import ExecutionState
from tenure.remote.port import RemoteStorage
from tenure.remote.rows import ExecutionRow, NodeRow
from tenure.store.operation import Op


def why_of_submission(storage: RemoteStorage, caller: Caller, thread: SubjectThread, now: datetime) -> Op[list[Reason]]:
    """What keeps the node from it, and how its newest execution stands."""
    subject = thread.envelope.uid
    row = (yield from storage.submissions_of(caller.tenant, [subject])).get(subject)
    node = (yield from storage.node(caller.tenant, uid=row.node)) if row is not None else None
    if row is None or node is None:
        return []
    executions = (yield from storage.executions([row.uid])).get(row.uid, [])
    return [*_of_node(node, now), *_of_execution(node, executions)]


def _of_node(node: NodeRow, now: datetime) -> Iterator[Reason]:
    evidence: dict[str, Any] = {"node": node.name, "polled_at": instant(node.polled_at) if node.polled_at else None}
    if node.silent(now):
        since = f"since {instant(node.polled_at)}" if node.polled_at is not None else "so far"
        yield Reason(
            "node_silent", f"Node {node.name} is silent: it has not polled {since}.",
            "See on the node that its agent runs and reaches this server. What it has goes on; it reports when it is back.",
            evidence | {"silent_after_seconds": node.spec["silent_after_seconds"]},
        )  # fmt: skip
    elif node.scheduler_problem is not None:
        yield Reason(
            "scheduler_problem", f"Node {node.name} has a problem: {node.scheduler_problem}",
            "Mend it; `tenure agent status` on the node says when that is over.",
            evidence | {
                "scheduler": node.scheduler, "since": instant(node.problem_since) if node.problem_since else None,
            },
        )  # fmt: skip
    elif node.draining:
        yield Reason(
            "node_draining", f"Node {node.name} is draining: it takes nothing new.",
            "Wait, or let whoever runs the node end that.", evidence,
        )  # fmt: skip


def _of_execution(node: NodeRow, executions: Sequence[ExecutionRow]) -> Iterator[Reason]:
    last = executions[-1] if executions else None
    if last is None or last.execution.ended or not last.execution.wanted:
        return
    execution = last.execution
    evidence = {
        "execution_id": execution.execution_id, "state": str(execution.state) if execution.state is not None else None,
        "slurm_job_id": execution.slurm_job_id, "partition": execution.partition, "qos": execution.qos,
        "status_detail": last.status_detail,
    }  # fmt: skip
    if execution.state is not None and node.job_problem is not None:
        # Perhaps of this one, perhaps of another that is there: the sentence names it.
        yield Reason(
            "job_needs_somebody", f"Node {node.name} wants somebody to look at a job: {node.job_problem}",
            "Where it is this one, do what it says. Other work goes on.", {"node": node.name}, blocking=False,
        )  # fmt: skip
    job = f" as Slurm job {execution.slurm_job_id}" if execution.slurm_job_id is not None else ""
    says = f": {last.status_detail}" if last.status_detail else "."
    if execution.state is None:
        yield Reason(
            "handed_out", f"Execution {execution.number} was handed out to {node.name} and is not accepted yet.",
            "The node accepts it once its scheduler has it.", evidence, blocking=False,
        )  # fmt: skip
    elif execution.state is ExecutionState.ACCEPTED:
        yield Reason(
            "waits_for_scheduler", f"Execution {execution.number} waits at {node.name}{job}{says}",
            "Its scheduler decides when it begins.", evidence, blocking=False,
        )  # fmt: skip
    else:
        yield Reason(
            "runs_at_node", f"Execution {execution.number} runs at {node.name}{job}{says}",
            "Wait for it to end, or cancel the submission.", evidence, blocking=False,
        )  # fmt: skip
