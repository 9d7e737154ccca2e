"""What each step makes of an execution, and what the server is told of it. Pure: the agent writes it down and acts.

The contract allows accepted -> running -> completed | failed and accepted -> failed (S5). So an execution that never got as
far as a job is accepted before it fails, and one that was never seen running is said to have run before it completed.
"""

from __future__ import annotations

from dataclasses import replace

from tenure.agent.events import tell
from tenure.agent.execution import WITH_JOB, Change, Execution, JobOutcome, Stage
from tenure.agent.scheduler import JobStatus, Phase
from tenure.agent.sentences import failure_with, sentence, sentence_if_any
from tenure.remote.model.fields import ExecutionState, Failure, ResultRef

CANCELED = failure_with(code="canceled", message="It was canceled before the scheduler had it.", retryable=False)


def prepared(execution: Execution, now: float) -> Change | None:
    """Its folder is ready."""
    if execution.stage is not Stage.RECEIVED:
        return None
    return Change(_moved(execution, Stage.PREPARED, now))


def submitting(execution: Execution, now: float) -> Change | None:
    """The scheduler is about to get it."""
    if execution.stage not in (Stage.PREPARED, Stage.SUBMITTING) or execution.cancel_at is not None:
        return None
    return Change(replace(_moved(execution, Stage.SUBMITTING, now), attempts=execution.attempts))


def still_without_job(execution: Execution, problem: str) -> Change | None:
    """It was about to become a job, and was looked for in vain. It stays due: the next look may find it all the same."""
    if execution.stage is not Stage.SUBMITTING:
        return None
    return Change(replace(execution, problem=sentence(problem)))


def submitted(execution: Execution, job_id: str, now: float, *, reported: bool, adopted: bool = False) -> Change | None:
    """The scheduler has it under ``job_id``; ``reported`` where that is the id to tell of."""
    if execution.stage not in (Stage.PREPARED, Stage.SUBMITTING):
        return None
    with_job = replace(
        _moved(execution, Stage.SUBMITTED, now), job_id=job_id, slurm_job_id=job_id if reported else None,
        problem=None,
    )  # fmt: skip
    detail = "Found again by its key after the agent had been interrupted." if adopted else None
    return tell(Change(with_job), ExecutionState.ACCEPTED, now, detail=detail)


def given_up(execution: Execution, failure: Failure, now: float, detail: str | None = None) -> Change | None:
    """It fails without a job: refused by the scheduler or by this node, canceled, or its input cannot be had."""
    if execution.stage not in (Stage.RECEIVED, Stage.PREPARED, Stage.SUBMITTING):
        return None
    change = Change(replace(_moved(execution, Stage.ENDED, now), problem=None))
    detail = detail or "The node has it, and did not submit it."
    change = tell(change, ExecutionState.ACCEPTED, now, detail=detail)
    return tell(change, ExecutionState.FAILED, now, error=failure)


def cancel_asked(execution: Execution, now: float) -> Change | None:
    """The server wants its end. What has no job ends here; for a job the scheduler is told."""
    if execution.stage in (Stage.RECEIVED, Stage.PREPARED):
        return given_up(replace(execution, cancel_at=now), CANCELED, now)
    if execution.cancel_at is not None or execution.stage is Stage.ENDED:
        return None
    return Change(replace(execution, cancel_at=now))


def seen(execution: Execution, status: JobStatus, now: float) -> Change | None:
    """The scheduler has told how its job stands."""
    if execution.stage not in WITH_JOB:
        return None
    known = replace(
        execution, absent_at=None, problem=sentence_if_any(status.problem),
        restarts=max(execution.restarts, status.restarts),
        slurm_job_id=execution.slurm_job_id or status.slurm_job_id, partition=status.partition or execution.partition,
        qos=status.qos or execution.qos,
    )  # fmt: skip
    if status.phase in (Phase.COMPLETED, Phase.FAILED):
        return _ended(known, status, now)
    if status.phase is Phase.RUNNING and known.stage is Stage.SUBMITTED:
        return _begun(known, status, now, status.detail)
    # Requeued it waits again, and the server has been told that it ran: that does not go back.
    return Change(known)


def _begun(execution: Execution, status: JobStatus, now: float, detail: str | None) -> Change:
    at = status.started_at.timestamp() if status.started_at is not None else now
    return tell(Change(_moved(execution, Stage.RUNNING, now)), ExecutionState.RUNNING, min(at, now), detail=detail)


def _ended(execution: Execution, status: JobStatus, now: float) -> Change:
    change = Change(execution)
    if status.phase is Phase.COMPLETED and execution.reported is ExecutionState.ACCEPTED:
        change = _begun(execution, status, now, "It was over before it was seen running; that it ran is concluded.")
    outcome = JobOutcome(
        failure=_failure(status), exit_code=status.exit_code, detail=sentence_if_any(status.detail),
        started_at=status.started_at, ended_at=status.ended_at,
    )  # fmt: skip
    return replace(change, execution=replace(_moved(change.execution, Stage.BRINGING, now), outcome=outcome))


def _failure(status: JobStatus) -> Failure | None:
    if status.phase is Phase.COMPLETED:
        return None
    said = status.detail or "The scheduler says that it failed, and not why."
    return status.failure or failure_with(code="FAILED", message=said, retryable=False)


def absent(execution: Execution, now: float, alert_after: float) -> Change | None:
    """The scheduler does not know its job: nothing is concluded. After a while a person is asked to look."""
    if execution.stage not in WITH_JOB:
        return None
    since = execution.absent_at if execution.absent_at is not None else now
    problem = execution.problem
    if now - since >= alert_after:
        problem = (
            f"The scheduler has not known job {execution.job_id} for {alert_after:,.0f} s and more. It may have ended "
            "while nobody looked. See the scheduler's own records; then say how it ended with `tenure agent conclude`."
        )
    return Change(replace(execution, absent_at=since, problem=problem))


def concluded(execution: Execution, failure: Failure, now: float) -> Change | None:
    """A person says that its job is over and will not be heard of again, or that its results will not be collected."""
    if execution.stage in (Stage.RECEIVED, Stage.PREPARED, Stage.SUBMITTING):
        return given_up(execution, failure, now)
    if execution.stage in (Stage.BRINGING, Stage.COLLECTING):
        # Its job has ended: how it failed stays as the scheduler said. Nobody waits for what it left any longer.
        outcome = execution.outcome or JobOutcome()
        known = outcome if outcome.failure is not None else outcome.model_copy(update={"failure": failure})
        problem = f"Concluded before what it left was collected: {failure.message}"
        return collected(replace(execution, stage=Stage.COLLECTING, outcome=known), None, now, problem)
    if execution.stage not in WITH_JOB:
        return None
    return Change(replace(_moved(execution, Stage.COLLECTING, now), outcome=JobOutcome(failure=failure), problem=None))


def brought(execution: Execution, now: float) -> Change | None:
    """What its job left is in its folder."""
    if execution.stage is not Stage.BRINGING:
        return None
    return Change(_moved(execution, Stage.COLLECTING, now))


def collected(execution: Execution, result: ResultRef | None, now: float, problem: str | None = None) -> Change | None:
    """What it left is in the payload store. Only what has failed may end without."""
    if execution.stage is not Stage.COLLECTING or execution.outcome is None:
        return None
    outcome = execution.outcome
    at = min(outcome.ended_at.timestamp(), now) if outcome.ended_at is not None else now
    change = Change(replace(_moved(execution, Stage.ENDED, now), problem=None))
    detail = "; ".join(said for said in (outcome.detail, problem) if said) or None
    if outcome.failure is not None:
        return tell(change, ExecutionState.FAILED, at, detail=detail, result=result, error=outcome.failure)
    if result is None:
        return None
    return tell(change, ExecutionState.COMPLETED, at, detail=detail, result=result)


def postponed(execution: Execution, stage: Stage, until: float, problem: str) -> Change | None:
    """A step did not work out; it is taken again later."""
    if execution.stage is not stage:
        return None
    return Change(replace(execution, attempts=execution.attempts + 1, not_before=until, problem=sentence(problem)))


def _moved(execution: Execution, stage: Stage, now: float) -> Execution:
    return replace(execution, stage=stage, stage_at=now, attempts=0, not_before=0.0)
