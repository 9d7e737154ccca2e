"""How an execution stands, from what AiiDA has and what Slurm says. AiiDA itself is not needed for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tenure.agent.aiida.adapter import AiidaScheduler
from tenure.agent.aiida.processes import Process
from tenure.agent.aiida.settings import AiidaSettings
from tenure.agent.aiida.status import status
from tenure.agent.scheduler import JobStatus, Phase
from tenure.remote.model.fields import Failure

PROCESS = Process(
    uuid="0b5f7a4e-6f0f-4b57-9a3c-0a1f6f0d2c11", pk=7, key="execution-1", state="waiting", step="withscheduler",
    says="Monitoring scheduler: job state RUNNING", paused=False, job_id="12", scheduler_state="running", exit_status=None,
    exit_message=None, exception=None, details=None, sent=True,
)  # fmt: skip


def process(**change: Any) -> Process:
    return replace(PROCESS, **change)


def finished(exit_status: int, message: str | None = None) -> Process:
    return process(
        state="finished", step=None, scheduler_state="done", exit_status=exit_status, exit_message=message, says=None
    )


def in_slurm(phase: Phase, **more: Any) -> JobStatus:
    return JobStatus("12", "execution-1", phase, **more)


CANCELLED = Failure(code="CANCELLED", message="It was cancelled in Slurm.", retryable=False)


@pytest.mark.parametrize(
    ("there", "below"),
    [
        (finished(0), in_slurm(Phase.FAILED, failure=CANCELLED)),
        (finished(0), in_slurm(Phase.RUNNING)),
        (process(scheduler_state="queued"), in_slurm(Phase.COMPLETED, exit_code=0)),
        (process(state="excepted", exception="ValueError: x"), in_slurm(Phase.RUNNING, restarts=1)),
        (process(paused=True), in_slurm(Phase.COMPLETED, exit_code=0)),
    ],
)
def test_slurms_own_word_goes_first(there: Process, below: JobStatus):
    told = status(there, below)
    assert replace(told, job_id="12", slurm_job_id=None) == replace(below, slurm_job_id=None)
    assert (told.job_id, told.slurm_job_id) == (there.uuid, "12")


@pytest.mark.parametrize(
    ("there", "code", "retryable", "words"),
    [
        (finished(110, "The job ran out of memory."), "OUT_OF_MEMORY", False, "memory_mib"),
        (finished(120, "The job ran out of walltime."), "TIMEOUT", False, "walltime_seconds"),
        (finished(131, "The specified account is invalid."), "SUBMISSION_REJECTED", False, "account"),
        (finished(140, "The node running the job failed."), "NODE_FAIL", True, "node"),
        (finished(160, "Stashing failed."), "AIIDA_160", False, "Stashing failed."),
        (finished(310, "Slurm refused the job: Invalid qos"), "SUBMISSION_REJECTED", False, "Invalid qos"),
        (finished(320, "The scheduler says: CANCELLED."), "CANCELLED", False, "canceled"),
        (finished(320, "The scheduler says: DEADLINE."), "DEADLINE", False, "deadline"),
        (finished(320, "The scheduler says: PREEMPTED."), "PREEMPTED", True, "place"),
        (finished(320, "The scheduler says: BOOT_FAIL."), "BOOT_FAIL", True, "start"),
        (finished(320, "The scheduler says: REVOKED."), "AIIDA_320", False, "REVOKED"),
        (finished(330, "The job ended without leaving its exit code."), "ENDED_FROM_OUTSIDE", False, "exit code"),
        (finished(340, "The script ended with exit code 3."), "FAILED", False, "exit code 3"),
        (process(state="killed"), "CANCELLED", False, "killed"),
        (process(state="excepted", exception="Traceback\nValueError: no"), "AIIDA_EXCEPTED", False, "ValueError: no"),
        (process(state="excepted"), "AIIDA_EXCEPTED", False, "verdi process report 7"),
        (process(state="excepted", exception="ValueError: " + "x" * 3000), "AIIDA_EXCEPTED", False, "ValueError: xxx"),
        (finished(160, "Stashing\0 failed: " + "x" * 3000), "AIIDA_160", False, "Stashing failed: xxx"),
    ],
)
def test_where_slurm_has_forgotten_aiidas_record_counts(there: Process, code: str, retryable: bool, words: str):
    told = status(there, None)
    assert told.phase is Phase.FAILED
    assert told.failure is not None
    assert (told.failure.code, told.failure.retryable) == (code, retryable)
    assert words in told.failure.message


def test_a_script_that_ended_well_is_completed_and_a_bad_exit_code_is_told():
    assert (status(finished(0), None).phase, status(finished(0), None).exit_code) == (Phase.COMPLETED, 0)
    assert status(finished(340, "The script ended with exit code 3."), None).exit_code == 3


@pytest.mark.parametrize(
    ("there", "phase"),
    [
        (process(state="created", step=None, job_id=None, scheduler_state=None, says=None), Phase.WAITING),
        (process(step="uploading", job_id=None, scheduler_state=None), Phase.WAITING),
        (process(step="submitting", job_id=None, scheduler_state=None), Phase.WAITING),
        (process(scheduler_state="queued"), Phase.WAITING),
        (process(scheduler_state="running"), Phase.RUNNING),
        (process(scheduler_state="done"), Phase.ENDING),
        (process(step="retrieving", scheduler_state=None), Phase.ENDING),
        (process(step="parsing", scheduler_state=None), Phase.ENDING),
    ],
)
def test_what_goes_on_is_told_in_aiidas_words(there: Process, phase: Phase):
    told = status(there, None)
    assert (told.phase, told.failure, told.problem) == (phase, None, None)
    assert (told.detail or "").startswith("AiiDA: ")


def test_a_paused_process_calls_for_a_person_whatever_its_job_does():
    paused = process(paused=True, says="Pausing after failed transport task: submit_calculation failed")
    for below in (None, in_slurm(Phase.WAITING), in_slurm(Phase.RUNNING, detail="Prolog")):
        told = status(paused, below)
        assert told.problem == told.detail
        assert "submit_calculation failed" in (told.problem or "")
        assert "verdi process play 7" in (told.problem or "")


def test_a_daemon_that_does_not_run_is_told_of_what_waits_for_it_alone():
    assert status(process(), None, "AiiDA's daemon does not run.").problem == "AiiDA's daemon does not run."
    assert status(finished(0), None, "AiiDA's daemon does not run.").problem is None


def test_what_slurm_says_holds_a_job_stays_told():
    held = in_slurm(Phase.WAITING, problem="Slurm job 12 waits and will not start by itself: JobHeldUser.")
    assert status(process(), held).problem == held.problem


def test_a_process_of_which_nothing_can_be_told_keeps_no_other_from_being_watched(monkeypatch: pytest.MonkeyPatch):
    def told(each: Process, *more: Any) -> JobStatus:
        if each.pk == 8:
            raise ZeroDivisionError("a defect")
        return status(each, *more)

    scheduler = AiidaScheduler(AiidaSettings(computer="cluster"))
    monkeypatch.setattr(scheduler, "_do", lambda what: what())
    monkeypatch.setattr(
        "tenure.agent.aiida.adapter.processes.by_key", lambda _: [process(pk=8), process(key="execution-2")]
    )
    monkeypatch.setattr("tenure.agent.aiida.adapter.status", told)

    found = scheduler.find(["execution-1", "execution-2"])

    assert found["execution-2"] == status(process(key="execution-2"), None)
    # It has one: without an answer it would be submitted again.
    assert (found["execution-1"].phase, found["execution-1"].job_id) == (Phase.ENDING, PROCESS.uuid)
    assert "ZeroDivisionError: a defect" in (found["execution-1"].problem or "")


def test_the_reference_has_every_setting_of_the_section():
    from tests.agent.test_settings import REFERENCE

    section = REFERENCE.partition("## `[aiida]`")[2]
    assert [name for name in AiidaSettings.model_fields if f"\n| `{name}` |" not in section] == []
