"""What each step makes of an execution, and what the server is told of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from tenure.agent import progress
from tenure.agent.events import event_id_of
from tenure.agent.execution import Change, Execution, JobOutcome, Stage
from tenure.agent.scheduler import JobStatus, Phase
from tenure.remote.model.fields import ExecutionState, Failure, ResultRef
from tests.agent.making import NOW, execution

FAILURE = Failure(code="NODE_FAIL", message="The node failed.", retryable=True)
RESULT = ResultRef(output_uri="file:///out/")


def told(change: Change | None) -> list[str]:
    assert change is not None
    return [str(event.state) for event in change.events]


def job(phase: Phase, **more: object) -> JobStatus:
    return replace(JobStatus("7", "e-1", phase), **more)  # type: ignore[arg-type]


def submitted(reported: bool = True) -> Execution:
    change = progress.submitted(execution(Stage.SUBMITTING), "7", NOW + 1, reported=reported)
    assert change is not None
    return change.execution


def running() -> Execution:
    change = progress.seen(submitted(), job(Phase.RUNNING), NOW + 2)
    assert change is not None
    return change.execution


def test_accepted_is_told_when_the_scheduler_has_it_and_names_the_job() -> None:
    change = progress.submitted(execution(Stage.SUBMITTING), "7", NOW + 1, reported=True)
    assert told(change) == ["accepted"]
    assert change is not None
    event = change.events[0]
    assert event.scheduler_ref is not None
    assert (event.scheduler_ref.slurm_job_id, event.scheduler_ref.partition) == ("7", "cpu")
    assert event.event_id == event_id_of("e-1", ExecutionState.ACCEPTED, 0)


def test_an_adapters_own_id_is_not_reported_and_the_schedulers_is_once_it_is_known() -> None:
    before = submitted(reported=False)
    assert before.slurm_job_id is None
    change = progress.seen(before, job(Phase.RUNNING, slurm_job_id="99"), NOW + 2)
    assert change is not None
    assert change.events[0].scheduler_ref is not None
    assert change.events[0].scheduler_ref.slurm_job_id == "99"
    after = progress.seen(change.execution, job(Phase.RUNNING, slurm_job_id="100"), NOW + 3)
    assert after is not None
    assert after.execution.slurm_job_id == "99", "once given it never changes"


def test_a_job_that_was_never_seen_running_is_said_to_have_run_and_that_this_is_concluded() -> None:
    change = progress.seen(submitted(), job(Phase.COMPLETED), NOW + 9)
    assert told(change) == ["running"]
    assert change is not None
    assert "concluded" in (change.events[0].status_detail or "")
    assert change.execution.stage is Stage.BRINGING


def test_a_job_that_failed_before_it_was_seen_running_just_failed() -> None:
    change = progress.seen(submitted(), job(Phase.FAILED, failure=FAILURE), NOW + 9)
    assert told(change) == []
    assert change is not None
    brought = progress.brought(change.execution, NOW + 10)
    assert brought is not None
    ended = progress.collected(brought.execution, RESULT, NOW + 11)
    assert told(ended) == ["failed"]
    assert ended is not None
    assert (ended.events[0].error, ended.events[0].result_ref) == (FAILURE, RESULT)


def test_a_requeued_job_does_not_make_running_regress_and_its_end_has_an_id_of_its_own() -> None:
    for phase, restarts in ((Phase.WAITING, 1), (Phase.RUNNING, 1), (Phase.ENDING, 1), (Phase.RUNNING, 2)):
        change = progress.seen(running(), job(phase, restarts=restarts), NOW + 5)
        assert told(change) == []
        assert change is not None
        assert (change.execution.stage, change.execution.restarts) == (Stage.RUNNING, restarts)
    change = progress.seen(running(), job(Phase.COMPLETED, restarts=2), NOW + 9)
    assert change is not None
    ended = progress.collected(replace(change.execution, stage=Stage.COLLECTING), RESULT, NOW + 10)
    assert ended is not None
    assert ended.events[0].event_id == event_id_of("e-1", ExecutionState.COMPLETED, 2)


def test_a_lower_count_of_restarts_is_not_believed() -> None:
    change = progress.seen(replace(running(), restarts=2), job(Phase.RUNNING, restarts=0), NOW + 5)
    assert change is not None
    assert change.execution.restarts == 2


@pytest.mark.parametrize("stage", [Stage.RECEIVED, Stage.PREPARED, Stage.SUBMITTING])
def test_what_never_became_a_job_is_accepted_before_it_fails(stage: Stage) -> None:
    change = progress.given_up(execution(stage), FAILURE, NOW + 1)
    assert told(change) == ["accepted", "failed"]
    assert change is not None
    assert change.execution.stage is Stage.ENDED
    assert [event.scheduler_ref for event in change.events] == [None, None]


@pytest.mark.parametrize("stage", [Stage.SUBMITTED, Stage.RUNNING, Stage.BRINGING, Stage.COLLECTING, Stage.ENDED])
def test_what_has_a_job_is_not_given_up(stage: Stage) -> None:
    assert progress.given_up(execution(stage), FAILURE, NOW) is None


@pytest.mark.parametrize(
    ("stage", "events"),
    [
        (Stage.RECEIVED, ["accepted", "failed"]), (Stage.PREPARED, ["accepted", "failed"]), (Stage.SUBMITTING, []),
        (Stage.SUBMITTED, []), (Stage.RUNNING, []), (Stage.BRINGING, []), (Stage.COLLECTING, []),
    ],
)  # fmt: skip
def test_a_cancellation_ends_at_once_only_what_surely_has_no_job(stage: Stage, events: list[str]) -> None:
    change = progress.cancel_asked(execution(stage), NOW + 1)
    assert told(change) == events
    assert change is not None
    assert change.execution.cancel_at == NOW + 1
    assert progress.cancel_asked(change.execution, NOW + 2) is None


def test_an_absent_job_is_unknown_and_after_a_while_a_person_is_asked() -> None:
    first = progress.absent(running(), NOW + 10, 600)
    assert first is not None
    assert (first.events, first.execution.stage, first.execution.problem) == ((), Stage.RUNNING, None)
    later = progress.absent(first.execution, NOW + 609, 600)
    assert later is not None
    assert later.execution.problem is None
    last = progress.absent(later.execution, NOW + 610, 600)
    assert last is not None
    assert (last.events, last.execution.stage) == ((), Stage.RUNNING)
    assert "job 7" in (last.execution.problem or "")
    again = progress.seen(last.execution, job(Phase.RUNNING), NOW + 700)
    assert again is not None
    assert (again.execution.absent_at, again.execution.problem) == (None, None)


def test_what_somebody_concluded_fails_with_what_they_said() -> None:
    change = progress.concluded(running(), FAILURE, NOW + 5)
    assert told(change) == []
    assert change is not None
    ended = progress.collected(change.execution, None, NOW + 6)
    assert told(ended) == ["failed"]


@pytest.mark.parametrize("stage", [Stage.BRINGING, Stage.COLLECTING])
def test_what_somebody_concluded_while_its_results_were_not_kept_ends_without_them(stage: Stage) -> None:
    ended = progress.concluded(replace(running(), stage=stage, outcome=JobOutcome()), FAILURE, NOW + 5)
    assert told(ended) == ["failed"]
    assert ended is not None
    assert (ended.execution.stage, ended.execution.problem) == (Stage.ENDED, None)
    assert (ended.events[0].error, ended.events[0].result_ref) == (FAILURE, None)


def test_how_the_scheduler_said_that_it_failed_stays_whatever_somebody_concludes() -> None:
    killed = Failure(code="OUT_OF_MEMORY", message="It took too much.", retryable=False)
    collecting = replace(running(), stage=Stage.COLLECTING, outcome=JobOutcome(failure=killed))
    ended = progress.concluded(collecting, FAILURE, NOW + 5)
    assert ended is not None
    assert ended.events[0].error == killed
    assert FAILURE.message in (ended.events[0].status_detail or "")


def test_what_has_ended_is_not_concluded() -> None:
    assert progress.concluded(execution(Stage.ENDED), FAILURE, NOW) is None


def test_a_completed_job_does_not_end_without_its_result() -> None:
    collecting = replace(running(), stage=Stage.COLLECTING, outcome=JobOutcome())
    assert progress.collected(collecting, None, NOW + 5) is None


def test_times_never_go_back_within_an_execution_whatever_clocks_say() -> None:
    early = datetime.fromtimestamp(NOW - 500, UTC)
    change = progress.seen(submitted(), job(Phase.RUNNING, started_at=early), NOW - 400)
    assert change is not None
    assert change.events[0].occurred_at == datetime.fromtimestamp(NOW + 1, UTC)


def test_event_ids_are_the_same_however_often_they_are_made_and_differ_by_state_and_restart() -> None:
    ids = [event_id_of("e-1", state, restart) for state in ExecutionState for restart in (0, 1)]
    assert len(set(ids)) == 8
    assert ids == [event_id_of("e-1", state, restart) for state in ExecutionState for restart in (0, 1)]
    assert event_id_of("e-2", ExecutionState.ACCEPTED, 0) not in ids
