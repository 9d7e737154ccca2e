"""The scheduler keeps silent, loses answers, refuses, forgets: one job for each execution, and nothing is concluded."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tenure.agent.looking import look
from tenure.agent.requests import CONCLUDE, DRAIN, ask
from tenure.agent.settings import AgentSettings
from tests.agent.border import Border, complete_and_in_order, problem, script
from tests.agent.conftest import RunAgent, settings_for
from tests.agent.making import Moody


@pytest.fixture
def moody(settings: AgentSettings) -> Moody:
    return Moody(settings.folder / "local")


def runs(folder: Path) -> list[str]:
    path = folder / "starts"
    return path.read_text().split() if path.exists() else []


def counted(folder: Path, more: str = "true") -> str:
    return script(folder, f'echo "$TENURE_EXECUTION_ID" >> {folder}/starts; {more}')


def held_open(border: Border, folder: Path) -> tuple[str, Path]:
    """An execution whose job goes on until a file is there; and that file."""
    go = folder / "go"
    return border.submit(counted(folder, f"while [ ! -e {go} ]; do sleep 0.05; done")), go


def test_while_the_scheduler_is_silent_nothing_is_submitted_or_taken(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path
) -> None:
    execution = border.submit(counted(tmp_path))
    moody.silent = True
    with running(scheduler=moody):
        border.wait(lambda: any(poll.scheduler_problem for poll in border.polls), "the server hears of it")
        poll = next(poll for poll in border.polls if poll.scheduler_problem)
        assert poll.accepting == 0
        assert "does not answer" in (poll.scheduler_problem or "")
        assert moody.submitted == []
        moody.silent = False
        border.wait_for_end(execution)
        border.wait(lambda: border.polls[-1].scheduler_problem is None, "that is over")
    assert border.states(execution) == ["accepted", "running", "completed"]


def test_while_no_poll_is_answered_nothing_is_submitted_and_what_is_a_job_already_is_found(
    border: Border, running: RunAgent, moody: Moody, settings: AgentSettings, tmp_path: Path
) -> None:
    """Another agent may be the node by then, and have been given the same."""
    away, polls = False, 0

    def trouble(path: str, _: bytes) -> object:
        nonlocal polls
        polls += path.endswith("/poll")
        return (503, problem("store_unavailable", "Away.")) if away and path.endswith("/poll") else None

    border.trouble = trouble
    later, latest = tmp_path / "later.sh", tmp_path / "latest.sh"
    untaken, lost, waits = (
        border.submit(counted(tmp_path)),
        border.submit(later.as_uri()),
        border.submit(latest.as_uri()),
    )
    script = f'echo "$TENURE_EXECUTION_ID" >> {tmp_path}/starts'
    moody.takes_none_of = {untaken}
    moody.loses_answers, moody.falls_silent = 1, True
    with running(scheduler=moody):
        border.wait(lambda: look(settings.folder).executions.get("submitting") == 1, "one is tried in vain")
        border.wait(lambda: {lost, waits} <= set(border.held), "the node has the others")
        later.write_text(script)
        border.wait(lambda: len(moody.submitted) == 1, "one is submitted, and nobody knows it")
    away = True
    latest.write_text(script)
    moody.silent, moody.takes_none_of = False, set()
    looked = sum(untaken in keys for keys in moody.finds)
    with running(scheduler=moody):
        border.wait_for_end(lost)
        border.wait(lambda: look(settings.folder).executions.get("prepared") == 1, "one is ready")
        border.wait(
            lambda: sum(untaken in keys for keys in moody.finds) > looked + 1, "one is looked for, again and again"
        )
        asked = polls
        border.wait(lambda: polls > asked, "the server is asked in vain")
        assert moody.submitted == [lost]
        away = False
        border.wait_for_end(untaken, waits)
    assert sorted(runs(tmp_path)) == sorted([untaken, lost, waits])
    assert border.states(waits) == ["accepted", "running", "completed"]


def test_a_submission_whose_answer_was_lost_is_found_and_not_repeated(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path
) -> None:
    executions = [border.submit(counted(tmp_path)) for _ in range(5)]
    moody.loses_answers = 3
    with running(scheduler=moody):
        border.wait_for_end(*executions)
    assert sorted(runs(tmp_path)) == sorted(executions)
    assert sorted(moody.submitted) == sorted(executions)
    assert all(complete_and_in_order(border.states(each)) for each in executions)
    details = [border.events[each][0].status_detail for each in executions]
    assert sum("Found again by its key" in (detail or "") for detail in details) == 3


def test_nothing_is_submitted_again_before_a_lost_job_would_have_turned_up(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path
) -> None:
    moody.settle_seconds = 1.5
    moody.loses_answers = 1
    execution = border.submit(counted(tmp_path))
    moody.forgets = {execution}  # as a controller that has taken the job and does not show it yet
    with running(scheduler=moody):
        border.wait(lambda: moody.submitted == [execution], "it is submitted")
        finds = len(moody.finds)
        lost_at = time.monotonic()
        border.wait(lambda: time.monotonic() - lost_at > 1.0, "most of that time is over")
        assert not any(execution in keys for keys in moody.finds[finds:])
        moody.forgets = set()
        border.wait_for_end(execution)
    assert moody.submitted == [execution]
    assert runs(tmp_path) == [execution]


def test_what_the_scheduler_refuses_is_accepted_and_fails(border: Border, running: RunAgent, tmp_path: Path) -> None:
    execution = border.submit(counted(tmp_path), cpu=1000)
    with running():
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "failed"]
    failed = border.last(execution)
    assert failed.error is not None
    assert (failed.error.code, failed.error.retryable) == ("resources_rejected", False)
    assert "refused" in (border.events[execution][0].status_detail or "")


def test_what_is_above_the_nodes_own_limits_never_reaches_the_scheduler(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, border.url, limits={"cpu": 2, "memory_mib": 512, "walltime_seconds": 600})
    moody = Moody(settings.folder / "local")
    too_big = [
        border.submit(counted(tmp_path), cpu=3), border.submit(counted(tmp_path), memory_mib=513),
        border.submit(counted(tmp_path), walltime_seconds=601),
    ]  # fmt: skip
    fits = border.submit(counted(tmp_path), cpu=2, memory_mib=512, walltime_seconds=600)
    with running(settings, moody):
        border.wait_for_end(*too_big, fits)
    assert moody.submitted == [fits]
    for execution in too_big:
        assert border.states(execution) == ["accepted", "failed"]
        assert border.last(execution).error.code == "resources_rejected"  # type: ignore[union-attr]


def test_a_job_that_the_scheduler_forgot_is_unknown_until_somebody_says_how_it_ended(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    settings = settings_for(
        tmp_path, border.url,
        watch={"fastest_seconds": 0.05, "slowest_seconds": 0.2, "alert_after_seconds": 0.5},
    )  # fmt: skip
    moody = Moody(settings.folder / "local")
    execution = border.submit(counted(tmp_path, "sleep 300"))
    with running(settings, moody):
        border.wait(lambda: "running" in border.states(execution), "it runs")
        moody.forgets = {execution}
        border.wait(lambda: bool(look(settings.folder).troubled), "somebody is called for")
        (trouble,) = look(settings.folder).troubled
        assert (trouble["execution_id"], trouble["stage"]) == (execution, "running")
        assert "has not known job 1" in (trouble["problem"] or "")
        border.wait(lambda: "has not known" in (border.polls[-1].job_problem or ""), "the server hears of it")
        said = border.polls[-1]
        assert (said.job_problem or "").startswith("Execution 1 of submission ")
        assert (said.scheduler_problem, said.accepting > 0) == (None, True), "work goes on"
        assert border.states(execution) == ["accepted", "running"], "nothing was concluded"
        said = {"execution_id": execution, "reason": "The log of the node says that it crashed.", "retryable": "yes"}
        ask(settings.folder, CONCLUDE, json.dumps(said))
        border.wait_for_end(execution)
    failed = border.last(execution)
    assert failed.error is not None
    assert (failed.error.code, failed.error.retryable) == ("concluded", True)
    assert failed.error.message == "The log of the node says that it crashed."
    moody.forgets = set()
    moody.cancel("1")


def test_a_job_that_turns_up_again_goes_on(border: Border, running: RunAgent, moody: Moody, tmp_path: Path) -> None:
    execution, go = held_open(border, tmp_path)
    with running(scheduler=moody):
        border.wait(lambda: "running" in border.states(execution), "it runs")
        moody.forgets = {execution}
        asked = len(moody.polls)
        border.wait(lambda: len(moody.polls) > asked + 1, "it is missed")
        moody.forgets = set()
        go.touch()
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "running", "completed"]


def test_a_number_that_another_job_has_now_says_nothing_of_the_first(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path
) -> None:
    execution, go = held_open(border, tmp_path)
    with running(scheduler=moody):
        border.wait(lambda: "running" in border.states(execution), "it runs")
        moody.lent = "another execution"
        asked = len(moody.polls)
        border.wait(lambda: len(moody.polls) > asked + 2, "it is missed")
        assert border.states(execution) == ["accepted", "running"]
        moody.lent = None
        go.touch()
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "running", "completed"]


def test_a_number_that_another_job_has_now_is_not_cancelled(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.agent.scheduling._CANCEL_AGAIN", 0.1)
    execution = border.submit(counted(tmp_path, "sleep 300"))
    with running(scheduler=moody):
        border.wait(lambda: "running" in border.states(execution), "it runs")
        moody.lent = "another execution"
        border.cancel(execution)
        border.wait(lambda: execution in border.polls[-1].canceling, "the node has heard of it")
        asked = len(moody.polls)
        border.wait(lambda: len(moody.polls) > asked + 4, "the scheduler is asked after it")
        assert moody.canceled == []
        moody.lent = None
        border.wait_for_end(execution)
    assert len(moody.canceled) > 0


@pytest.mark.slow
def test_one_question_asks_for_all_jobs_and_no_more_of_them_for_many_than_for_one(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    settings = settings_for(tmp_path, border.url, watch={"fastest_seconds": 0.3, "slowest_seconds": 1.0})
    moody = Moody(settings.folder / "local")
    go = tmp_path / "go"
    uri = counted(tmp_path, f"while [ ! -e {go} ]; do sleep 0.2; done")
    executions = [border.submit(uri) for _ in range(12)]
    with running(settings, moody):
        border.wait(lambda: all("running" in border.states(each) for each in executions), "all run")
        asked, begun = len(moody.polls), time.monotonic()
        border.wait(lambda: len(moody.polls) >= asked + 4, "it is asked four times")
        assert time.monotonic() - begun > 0.3 * 3
        assert moody.polls[asked:][:4] == [12] * 4
        go.touch()
        border.wait_for_end(*executions)


def test_a_cancellation_before_the_job_ends_it_without_one(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path
) -> None:
    missing = tmp_path / "not-there-yet.sh"
    execution = border.submit(missing.as_uri())
    with running(scheduler=moody):
        border.wait(lambda: execution in border.held, "the node has it")
        border.cancel(execution)
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "failed"]
    assert border.last(execution).error.code == "canceled"  # type: ignore[union-attr]
    assert moody.submitted == []


def test_a_cancellation_while_it_is_unknown_whether_there_is_a_job_ends_the_job_that_there_is(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path
) -> None:
    moody.settle_seconds, moody.loses_answers = 1.0, 1
    execution = border.submit(counted(tmp_path, "sleep 300"))
    with running(scheduler=moody):
        border.wait(lambda: moody.submitted == [execution], "it is submitted")
        border.cancel(execution)
        border.wait_for_end(execution)
    assert border.states(execution)[-1] == "failed"
    assert border.last(execution).error.code == "CANCELLED"  # type: ignore[union-attr]


def test_what_is_canceled_while_it_is_being_submitted_is_over_only_once_its_job_is(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path
) -> None:
    moody.loses_answers = 1
    canceled = border.submit(counted(tmp_path, "sleep 300"))
    moody.on_its_way = {canceled}
    with running(scheduler=moody):
        border.wait(lambda: moody.submitted == [canceled], "it is submitted")
        border.cancel(canceled)
        border.wait(lambda: canceled in border.polls[-1].canceling, "the node has heard of it")
        finds = len(moody.finds)
        border.wait(lambda: len(moody.finds) > finds, "its job is looked for, and not found")
        other = border.submit(counted(tmp_path))
        border.wait_for_end(other)  # keeps nobody else waiting
        assert border.states(canceled) == []
        moody.on_its_way = set()
        border.wait_for_end(canceled)
    assert border.states(canceled)[-1] == "failed"
    assert border.last(canceled).error.code == "CANCELLED"  # type: ignore[union-attr]
    assert set(moody.canceled) == {"1"}
    assert sorted(moody.submitted) == sorted([canceled, other])


def test_the_end_of_what_is_unknown_here_is_told_back_once(border: Border, running: RunAgent) -> None:
    border.cancel("somebody-elses")
    with running():
        border.wait(lambda: "somebody-elses" in (border.polls[-1].canceling if border.polls else ()), "it is told back")
        polls = len(border.polls)
        border.wait(lambda: len(border.polls) > polls, "it polls on")
        assert len(border.polls) < polls + 5


def test_no_more_is_taken_than_there_is_room_for(border: Border, running: RunAgent, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, border.url, max_executions=2)
    executions = [border.submit(counted(tmp_path)) for _ in range(6)]
    with running(settings):
        border.wait_for_end(*executions)
    assert max(len(poll.holding) for poll in border.polls) <= 6
    assert max(poll.accepting for poll in border.polls) == 2
    assert sorted(runs(tmp_path)) == sorted(executions)


def test_draining_finishes_what_is_there_takes_nothing_new_and_outlasts_a_restart(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    first, go = held_open(border, tmp_path)
    with running():
        border.wait(lambda: "running" in border.states(first), "it runs")
        ask(settings.folder, DRAIN, "on")
        border.wait(lambda: border.polls[-1].draining, "the server hears of it")
        assert border.polls[-1].accepting == 0
        second = border.submit(counted(tmp_path))
        go.touch()
        border.wait_for_end(first)
    assert look(settings.folder).draining
    polls = len(border.polls)
    with running():
        border.wait(lambda: len(border.polls) > polls, "it polls")
        assert all(poll.draining and poll.accepting == 0 for poll in border.polls[polls:])
        assert border.states(second) == []
        ask(settings.folder, DRAIN, "off")
        border.wait_for_end(second)


def test_a_defect_of_the_adapter_for_one_execution_keeps_no_other_back(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path
) -> None:
    broken, fine = (border.submit(counted(tmp_path)) for _ in range(2))
    moody.breaks = {broken}
    with running(scheduler=moody):
        border.wait_for_end(fine)
        assert border.states(broken) == []
        moody.breaks = set()
        border.wait_for_end(broken)
    assert complete_and_in_order(border.states(broken))
    assert sorted(runs(tmp_path)) == sorted([broken, fine])


def test_jobs_are_watched_to_their_end_though_the_scheduler_takes_no_more(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path
) -> None:
    first, go = held_open(border, tmp_path)
    with running(scheduler=moody):
        border.wait(lambda: "running" in border.states(first), "it runs")
        second = border.submit(counted(tmp_path))
        moody.takes_none_of = {second}
        border.wait(lambda: border.polls[-1].scheduler_problem is not None, "the server hears of it")
        assert "takes no jobs" in (border.polls[-1].scheduler_problem or "")
        go.touch()
        border.wait_for_end(first)
        assert border.states(second) == []
        moody.takes_none_of = set()
        border.wait_for_end(second)
        border.wait(lambda: border.polls[-1].scheduler_problem is None, "that is over")
    assert sorted(runs(tmp_path)) == sorted([first, second])


def test_one_that_is_never_answered_keeps_no_other_back(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.agent.scheduling._LONGEST", 1.0)
    poison, *others = (border.submit(counted(tmp_path)) for _ in range(4))
    moody.takes_none_of = {poison}
    with running(scheduler=moody):
        border.wait_for_end(*others)
        later = border.submit(counted(tmp_path))
        border.wait_for_end(later)
        assert border.states(poison) == []
        moody.takes_none_of = set()
        border.wait_for_end(poison)
    assert sorted(runs(tmp_path)) == sorted([poison, *others, later])


def test_a_cancellation_that_is_not_heard_keeps_no_other_and_no_end_waiting(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.agent.scheduling._CANCEL_AGAIN", 0.5)
    go = tmp_path / "go"
    deaf, hears, ends = (
        border.submit(counted(tmp_path, f"while [ ! -e {go}{number} ]; do sleep 0.05; done")) for number in range(3)
    )
    moody.deaf_to = {deaf}
    with running(scheduler=moody):
        border.wait(lambda: all("running" in border.states(each) for each in (deaf, hears, ends)), "all run")
        border.cancel(deaf)
        border.wait(lambda: border.polls[-1].scheduler_problem is not None, "the server hears of it")
        border.cancel(hears)
        Path(f"{go}2").touch()
        border.wait_for_end(hears, ends)
        assert border.states(deaf) == ["accepted", "running"]
        moody.deaf_to = set()
        border.wait_for_end(deaf)
    assert border.states(ends)[-1] == "completed"
    assert [border.last(each).error.code for each in (hears, deaf)] == ["CANCELLED"] * 2  # type: ignore[union-attr]


def test_many_cancellations_do_not_ask_the_scheduler_one_by_one_whose_jobs_they_are(
    border: Border, running: RunAgent, moody: Moody, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[tuple[str, int]] = []
    cancel = moody.cancel

    def noted(job_id: str) -> None:
        tried.append((job_id, len(moody.polls)))
        cancel(job_id)

    monkeypatch.setattr(moody, "cancel", noted)
    executions = [held_open(border, tmp_path)[0] for _ in range(5)]
    moody.deaf_to = set(executions)
    with running(scheduler=moody):
        border.wait(lambda: all("running" in border.states(each) for each in executions), "all run")
        for execution in executions:
            border.cancel(execution)
        border.wait(lambda: len({job_id for job_id, _ in tried}) == 5, "each was to be cancelled, in vain")
    moody.deaf_to = set()
    tried.clear()
    # An agent that starts again finds all of them due at once.
    with running(scheduler=moody):
        border.wait_for_end(*executions)
    assert len(tried) == 5
    assert len({polls for _, polls in tried}) == 1
