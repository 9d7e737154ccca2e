"""The public form of nodes and submissions: ids as contracts have them, times in ISO 8601."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tenure.model import euid
from tenure.model.fact import Fact
from tenure.model.json_text import instant
from tenure.remote.engine.nodes import NodeStanding
from tenure.remote.engine.reading import SubmissionHistory, SubmissionStanding
from tenure.remote.model.names import queue_key_of, submission_id_of
from tenure.remote.rows import ExecutionRow, SubmissionRow
from tenure.store.records import RefusalRow


def node_form(standing: NodeStanding) -> dict[str, Any]:
    """A node with what its last poll said."""
    node = standing.node
    return {
        "euid": euid.format_euid(euid.NODE, node.uid), "node": node.name, "queue_key": queue_key_of(node.name),
        "worker": euid.format_euid(euid.WORKER, node.worker), "principal": standing.principal, "spec": dict(node.spec),
        "created_at": instant(node.created_at), "silent": standing.silent, "polled_at": _at(node.polled_at),
        "agent_id": node.agent_id, "draining": node.draining, "holding": node.holding, "scheduler": node.scheduler,
        "scheduler_problem": node.scheduler_problem, "problem_since": _at(node.problem_since), "job_problem": node.job_problem,
        "seq": node.seq,
    }  # fmt: skip


def submission_form(row: SubmissionRow) -> dict[str, Any]:
    """A submission as lists show it."""
    return {
        "submission_id": submission_id_of(row.uid), "subject": euid.format_euid(euid.SUBJECT, row.subject),
        "workspace_id": row.workspace_id, "job_id": row.job_id, "management_node_id": row.node_name,
        "execution_owner": row.node_name, "trace_id": row.trace_id, "accepted_at": instant(row.accepted_at),
        "projection_state": str(row.projection_state), "projection_round": row.projection_round,
        "source_execution_state": str(row.source_execution_state) if row.source_execution_state is not None else None,
        "projected_at": instant(row.projected_at), "display_message": row.display_message,
        "result_ref": dict(row.result_ref) if row.result_ref is not None else None,
        "failure": dict(row.failure) if row.failure is not None else None,
        "command": dict(row.command), "placement": dict(row.placement), "seq": row.seq,
    }  # fmt: skip


def standing_form(standing: SubmissionStanding) -> dict[str, Any]:
    """A submission with its executions."""
    return submission_form(standing.submission) | {
        "executions": [_execution(row, standing.results.get(row.execution.number)) for row in standing.executions]
    }


def history_form(history: SubmissionHistory) -> dict[str, Any]:
    """What crossed the border, in order."""
    return {
        "submission_id": submission_id_of(history.submission.uid),
        "entries": [_entry(fact) for fact in history.facts],
        "refusals": [_refusal(row) for row in history.refusals],
    }


def _execution(row: ExecutionRow, result: Mapping[str, Any] | None) -> dict[str, Any]:
    execution = row.execution
    ref = {"slurm_job_id": execution.slurm_job_id, "partition": execution.partition, "qos": execution.qos}
    return {
        "execution_id": execution.execution_id, "number": execution.number,
        "lease": euid.format_euid(euid.LEASE, execution.attempt),
        "state": str(execution.state) if execution.state is not None else None, "wanted": execution.wanted,
        "scheduler_ref": ref, "status_detail": row.status_detail,
        "result_ref": dict(result) if result is not None else None, "handed_out_at": instant(row.handed_out_at),
        "accepted_at": _at(row.accepted_at), "running_at": _at(row.running_at), "ended_at": _at(row.ended_at),
    }  # fmt: skip


def _entry(fact: Fact) -> dict[str, Any]:
    return {
        "seq": fact.seq, "at": instant(fact.at), "type": fact.type, "actor": fact.actor, "trace_id": fact.trace_id,
        "data": {name: value for name, value in (fact.data or {}).items() if name != "subject"},
    }  # fmt: skip


def _refusal(row: RefusalRow) -> dict[str, Any]:
    refused = row.refused
    return {
        "at": instant(row.at), "code": refused.code, "action": refused.action, "actor": refused.actor,
        "message": refused.message,
    }  # fmt: skip


def _at(value: datetime | None) -> str | None:
    return instant(value) if value is not None else None
