"""How an execution stands, from what AiiDA has and what Slurm says. Pure.

Slurm's own word goes first: AiiDA only sees that a job has gone, and a process can pause or be lost while its job runs. Where
Slurm has forgotten the job, AiiDA's record of how it ended counts.
"""

from __future__ import annotations

from dataclasses import replace

from tenure.agent.aiida import codes
from tenure.agent.aiida.processes import Process
from tenure.agent.scheduler import JobStatus, Phase
from tenure.agent.sentences import failure_with
from tenure.agent.slurm.record import Record
from tenure.agent.slurm.refusals import REJECTED
from tenure.agent.slurm.states import status as meaning
from tenure.remote.model.fields import Failure

#: AiiDA's own exit codes, as the states of Slurm that they stand for.
_STATES = {codes.OUT_OF_MEMORY: "OUT_OF_MEMORY", codes.OUT_OF_WALLTIME: "TIMEOUT", codes.NODE_FAILURE: "NODE_FAIL"}
_CODES = {
    codes.INVALID_ACCOUNT: REJECTED, codes.REJECTED: REJECTED, codes.NO_STATUS: "ENDED_FROM_OUTSIDE", codes.NOT_ZERO: "FAILED",
}  # fmt: skip


def status(process: Process, below: JobStatus | None, daemon_problem: str | None = None) -> JobStatus:
    """How it stands. ``below`` is what Slurm says of its job, where it says something."""
    if below is not None:
        told = replace(below, job_id=process.uuid, key=process.key, slurm_job_id=below.job_id)
    else:
        told = _by_aiida(process)
    if told.phase in (Phase.COMPLETED, Phase.FAILED) or process.ended:
        return told
    problem = daemon_problem
    if process.paused:
        problem = (
            f"AiiDA has paused process {process.pk} of execution {process.key}: {process.says or 'it does not say why'}."
            f" See `verdi process report {process.pk}`, mend it, then `verdi process play {process.pk}`."
        )
    return replace(told, problem=problem, detail=problem or told.detail) if problem else told


def _by_aiida(process: Process) -> JobStatus:
    found = JobStatus(
        job_id=process.uuid, key=process.key, phase=Phase.WAITING, slurm_job_id=None, detail=_detail(process)
    )
    if not process.ended:
        if process.scheduler_state == "running":
            return replace(found, phase=Phase.RUNNING)
        gone = process.scheduler_state == "done" or process.step in ("stashing", "retrieving", "parsing")
        return replace(found, phase=Phase.ENDING) if gone else found
    if process.state == "finished" and process.exit_status == 0:
        return replace(found, phase=Phase.COMPLETED, exit_code=0)
    exit_code = _script_exit_code(process)
    return replace(found, phase=Phase.FAILED, failure=_failure(process), exit_code=exit_code)


def _failure(process: Process) -> Failure:
    if process.state == "killed":
        return failure_with(code="CANCELLED", retryable=False, message="The process was killed in AiiDA.")
    if process.state == "excepted":
        last = (process.exception or "").strip().rpartition("\n")[2]
        return failure_with(
            code="AIIDA_EXCEPTED", retryable=False,
            message=f"AiiDA gave the process up: {last or 'no reason given'}. See `verdi process report {process.pk}`.",
        )  # fmt: skip
    number = process.exit_status or 0
    if number in _STATES or number == codes.ENDED_BY_SCHEDULER:
        state = _STATES.get(number) or (process.exit_message or "").rstrip(".").rpartition(" ")[2]
        if (known := failure_of(state)) is not None:
            return known
    return failure_with(
        code=_CODES.get(number, f"AIIDA_{number}"), retryable=False,
        message=process.exit_message or f"AiiDA's exit status is {number}.",
    )  # fmt: skip


def _script_exit_code(process: Process) -> int | None:
    if process.exit_status != codes.NOT_ZERO:
        return None
    last = (process.exit_message or "").rstrip(".").rpartition(" ")[2]
    return int(last) if last.isdigit() else None


def _detail(process: Process) -> str | None:
    if process.ended:
        return None
    return f"AiiDA: {process.says or process.step or process.state}"


def failure_of(state: str) -> Failure | None:
    """What a final state of Slurm means for an execution; None where it is no failure or has no meaning of its own."""
    told = meaning(Record(job_id="0", name="", state=state, user_id=0)) if state != "FAILED" else None
    return told.failure if told is not None else None
