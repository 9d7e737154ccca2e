"""What Slurm's states and reasons mean for an execution (design 04, Slurm)."""

from __future__ import annotations

from tenure.agent.scheduler import JobStatus, Phase
from tenure.agent.sentences import failure_with
from tenure.agent.slurm.record import REVOKED, Record
from tenure.remote.model.fields import Failure

_PHASES = {
    Phase.WAITING: (
        "PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT",
        "POWER_UP_NODE", "EXPEDITING",
    ),
    # A job that stands still (suspended by a person or for another job) has begun and has not ended.
    Phase.RUNNING: ("RUNNING", "SUSPENDED", "STOPPED", "SIGNALING", "RESIZING"),
    # REVOKED: another cluster of the federation has it, where it waits or runs; how it ends is told here, too.
    Phase.ENDING: ("COMPLETING", "STAGE_OUT", "UPDATE_DB", REVOKED),
    Phase.COMPLETED: ("COMPLETED",),
}  # fmt: skip
#: States that the phase tells in full.
_PLAIN = {"PENDING", "RUNNING", "COMPLETED"}
_PHASE_OF = {state: phase for phase, states in _PHASES.items() for state in states}

NEED_MORE = {
    "OUT_OF_MEMORY": "It used more memory than it had asked for; the same again fails again. Submit it with more memory_mib.",
    "TIMEOUT": "It took longer than it had asked for; the same again fails again. Submit it with more walltime_seconds.",
}
"""Failures that only more resources help against: as they stand they are not retryable, and their codes say why."""

_RETRYABLE = {
    "NODE_FAIL": "A node that it ran on failed.",
    "PREEMPTED": "Another job took its place.",
    "BOOT_FAIL": "Its node did not start.",
}
_FINAL = {
    "CANCELLED": "It was canceled in Slurm.",
    "DEADLINE": "It could not end before its deadline.",
}
_NEVER = "DependencyNeverSatisfied"

#: Reasons for which a job waits until somebody does something about them.
_STUCK = {
    "JobHeldAdmin", "JobHeldUser", "JobHoldMaxRequeue", "BadConstraints", "PartitionNodeLimit", "PartitionTimeLimit",
    "PartitionConfig", "PartitionDown", "PartitionInactive", "AccountNotAllowed", "AccountingPolicy", "QOSNotAllowed",
    "InvalidAccount", "InvalidQOS", "ReservationInvalid", "ReservationDeleted", "DeadLine", "launch failed requeued held",
    "job requeued in held state", "job requeued in special exit state",
}  # fmt: skip
_STUCK_STATES = {"REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD"}


def status(record: Record) -> JobStatus:
    """How the job stands. Of a word of Slurm's that we do not know nothing is concluded: neither running nor finished."""
    failure = _failure(record)
    phase = Phase.FAILED if failure is not None else _PHASE_OF.get(record.state, Phase.ENDING)
    begun = bool(record.nodes) and phase is not Phase.WAITING
    ended = phase in (Phase.COMPLETED, Phase.FAILED)
    return JobStatus(
        job_id=record.job_id,
        key=record.name,
        phase=phase,
        restarts=record.restarts,
        partition=record.partition,
        qos=record.qos,
        failure=failure,
        detail=record.reason or (None if record.state in _PLAIN else record.state),
        problem=_problem(record) if phase is Phase.WAITING else None,
        exit_code=_exit_code(record, phase),
        started_at=record.started if begun else None,
        ended_at=record.ended if ended else None,
    )


def _failure(record: Record) -> Failure | None:
    """Why it failed, where it did."""
    if record.reason == _NEVER and record.state in ("PENDING", "CANCELLED"):
        # Slurm lets such a job pend for ever, unless it was submitted with --kill-on-invalid-dep.
        return failure_with(
            code=_NEVER, message="A job that it depends on did not end as it should have.", retryable=False
        )
    if record.state in NEED_MORE:
        return failure_with(code=record.state, message=NEED_MORE[record.state], retryable=False)
    if record.state in _RETRYABLE:
        return failure_with(code=record.state, message=_RETRYABLE[record.state], retryable=True)
    if record.state in _FINAL:
        return failure_with(code=record.state, message=_FINAL[record.state], retryable=False)
    if record.state == "FAILED":
        return failure_with(code="FAILED", message=_how_it_ended(record), retryable=False)
    return None


def _how_it_ended(record: Record) -> str:
    # The reason says little here: a job whose script was killed by a signal bears JobLaunchFailure.
    by_signal = record.wait_status & 0x7F
    if by_signal:
        return f"It was ended by signal {by_signal}."
    code = record.wait_status >> 8 & 0xFF
    return (
        f"It ended with exit code {code}." if code else f"Slurm could not run it: {record.reason or 'no reason given'}."
    )


def _exit_code(record: Record, phase: Phase) -> int | None:
    code = record.wait_status >> 8 & 0xFF
    # A job that failed with 0 was ended by something else than its script. Where the node failed, Slurm made the code up.
    by_script = phase is Phase.FAILED and code and record.state not in _RETRYABLE and (record.nodes or record.elsewhere)
    return code if phase is Phase.COMPLETED or by_script else None


def _problem(record: Record) -> str | None:
    if record.reason in _STUCK or record.state in _STUCK_STATES:
        why = record.reason or record.state
        return f"Slurm job {record.job_id} waits and will not start by itself: {why}. See scontrol show job {record.job_id}."
    return None
