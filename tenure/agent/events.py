"""Execution events as the contract has them (S5): what is told, in which order, under which id."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from uuid import UUID, uuid5

from tenure.agent.execution import Change, Execution
from tenure.agent.sentences import sentence
from tenure.remote.model.contracts import ExecutionEvent
from tenure.remote.model.fields import ExecutionState, Failure, ResultRef, SchedulerRef

_NAMESPACE = UUID("0d6f3c0e-7c1b-5d52-9a44-6f3b1f0f5c77")


def event_id_of(execution_id: str, state: ExecutionState, restart: int) -> str:
    """The id of an event: the same however often it is made."""
    return str(uuid5(_NAMESPACE, f"{execution_id}:{state}:{restart}"))


def tell(
    change: Change, state: ExecutionState, at: float, *, detail: str | None = None,
    result: ResultRef | None = None, error: Failure | None = None,
) -> Change:  # fmt: skip
    """The same change, of which the server is told ``state``. Times never go back within an execution."""
    execution = change.execution
    at = max(at, execution.reported_at or 0.0)
    work = execution.work
    event = ExecutionEvent(
        event_id=event_id_of(execution.execution_id, state, execution.restarts), tenant_id=work.tenant_id,
        workspace_id=work.workspace_id, job_id=work.job_id, submission_id=work.submission_id,
        execution_id=execution.execution_id, state=state, occurred_at=datetime.fromtimestamp(at, UTC),
        trace_id=work.trace_id, status_detail=sentence(detail) if detail else None,
        scheduler_ref=_where(execution), result_ref=result, error=error,
    )  # fmt: skip
    told = replace(execution, reported=state, reported_at=at)
    return Change(told, (*change.events, event))


def _where(execution: Execution) -> SchedulerRef | None:
    if execution.job_id is None:
        return None
    placement = execution.work.placement
    found = SchedulerRef(
        slurm_job_id=execution.slurm_job_id, partition=execution.partition or placement.partition,
        qos=execution.qos or placement.qos,
    )  # fmt: skip
    return found if found != SchedulerRef() else None
