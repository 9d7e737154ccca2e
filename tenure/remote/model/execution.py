"""What an event does to an execution: which one it means, and whether it may come now (S5, State monotonicity)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from tenure.model.errors import InvalidTransition
from tenure.remote.model.contracts import ExecutionEvent
from tenure.remote.model.fields import ExecutionState

A, R, C, F = ExecutionState.ACCEPTED, ExecutionState.RUNNING, ExecutionState.COMPLETED, ExecutionState.FAILED
#: From each state, what may come next; nothing was told before the first event.
NEXT: Mapping[ExecutionState | None, frozenset[ExecutionState]] = {
    None: frozenset({A}), A: frozenset({R, F}), R: frozenset({C, F}), C: frozenset(), F: frozenset(),
}  # fmt: skip
FINAL = frozenset({C, F})


@dataclass(frozen=True, slots=True)
class Execution:
    """One execution of a submission, as events have told of it."""

    number: int
    """Counts from 1 within the submission."""
    execution_id: str
    attempt: int
    """The uid of the attempt, whose lease it acts with."""
    state: ExecutionState | None = None
    """None as long as the node has not said that it has it."""
    slurm_job_id: str | None = None
    partition: str | None = None
    qos: str | None = None
    wanted: bool = True
    """Whether its subject still waits for it. Where not, the node is to end it."""

    @property
    def ended(self) -> bool:
        """Whether nothing more can come."""
        return self.state in FINAL


class Joined(Protocol):
    """What a submission says of itself."""

    @property
    def workspace_id(self) -> str:
        """The workspace that it belongs to."""
        ...

    @property
    def job_id(self) -> str:
        """The product's job."""
        ...


def check_joins(submission: Joined, event: ExecutionEvent) -> None:
    """``InvalidTransition`` where the event names another job or workspace than the submission's."""
    for name in ("workspace_id", "job_id"):
        told, known = getattr(event, name), getattr(submission, name)
        if told != known:
            raise InvalidTransition(
                f"The event's {name} is not that of submission {event.submission_id}.",
                "Repeat the ids as they came with the work.", field=name,
            )  # fmt: skip


def meant(executions: Sequence[Execution], event: ExecutionEvent) -> Execution:
    """The execution that the event is about. The first event of one that was handed out may bind an id of its own."""
    for execution in executions:
        if execution.execution_id == event.execution_id:
            return execution
    last = executions[-1] if executions else None
    if event.state is A and last is not None and last.state is None and last.wanted:
        return replace(last, execution_id=event.execution_id)
    raise InvalidTransition(
        f"Submission {event.submission_id} has no execution {event.execution_id}.",
        "Use the execution_id that came with the work, or one of your own from `accepted` on.",
        known=[execution.execution_id for execution in executions][-5:],
    )


def moved(execution: Execution, event: ExecutionEvent) -> Execution:
    """The execution after the event; ``InvalidTransition`` for a regression, a repetition or another Slurm job id."""
    if event.state not in NEXT[execution.state]:
        before = execution.state if execution.state is not None else "handed out"
        comes = " or ".join(sorted(NEXT[execution.state])) or "nothing"
        raise InvalidTransition(
            f"Execution {execution.execution_id} is {before}; {event.state} cannot follow.",
            f"What may follow is {comes}. Send an event again with the event_id that it had.",
            state=str(before), event_state=str(event.state),
        )  # fmt: skip
    ref = event.scheduler_ref
    if ref is None:
        return replace(execution, state=event.state)
    if execution.slurm_job_id is not None and ref.slurm_job_id not in (None, execution.slurm_job_id):
        raise InvalidTransition(
            f"Execution {execution.execution_id} is Slurm job {execution.slurm_job_id}, not {ref.slurm_job_id}.",
            "slurm_job_id never changes for one execution.", slurm_job_id=execution.slurm_job_id,
        )  # fmt: skip
    return replace(
        execution, state=event.state, slurm_job_id=ref.slurm_job_id or execution.slurm_job_id,
        partition=ref.partition or execution.partition, qos=ref.qos or execution.qos,
    )  # fmt: skip
