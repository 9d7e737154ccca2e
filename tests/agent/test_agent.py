"""An agent with real jobs on this machine, at a server that keeps the contract."""

from __future__ import annotations

import hashlib
import json
import threading
from contextlib import closing
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from tenure.agent.agent import Agent
from tenure.agent.errors import StateFolderInUse
from tenure.agent.local.scheduler import LocalScheduler
from tenure.agent.lock import FILE, StateLock
from tenure.agent.requests import CONCLUDE, DRAIN, ask
from tenure.agent.scheduler import JobSpec
from tenure.agent.settings import AgentSettings
from tenure.agent.store.store import Store
from tenure.sdk.http.address import Address
from tests.agent.border import TOKEN, Border, complete_and_in_order, script
from tests.agent.conftest import RunAgent


def path_of(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


def test_a_submission_runs_and_its_results_are_in_the_store(border: Border, running: RunAgent, tmp_path: Path) -> None:
    execution = border.submit(script(tmp_path, 'echo hello; echo "$TENURE_CPU" > "$TENURE_RESULTS/answer"'))
    with running():
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "running", "completed"]
    accepted, began, completed = border.events[execution]
    assert accepted.scheduler_ref is not None
    assert accepted.scheduler_ref.slurm_job_id == "1"
    assert began.occurred_at <= completed.occurred_at
    assert completed.result_ref is not None
    assert completed.result_ref.metadata_uri is not None
    metadata = json.loads(path_of(completed.result_ref.metadata_uri).read_text())
    assert [file["name"] for file in metadata["files"]] == ["stdout", "stderr", "results/answer"]
    for file in metadata["files"]:
        content = (path_of(completed.result_ref.output_uri) / file["stored"]).read_bytes()
        assert (file["size"], file["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
    assert (metadata["exit_code"], metadata["execution_id"]) == (0, execution)
    assert (path_of(completed.result_ref.output_uri) / "results/answer").read_text() == "1\n"


def test_a_job_that_fails_says_why_and_where_its_output_is(border: Border, running: RunAgent, tmp_path: Path) -> None:
    execution = border.submit(script(tmp_path, "echo trouble >&2; exit 3"))
    with running():
        border.wait_for_end(execution)
    assert complete_and_in_order(border.states(execution))
    failed = border.last(execution)
    assert failed.error is not None
    assert (failed.error.code, failed.error.retryable) == ("FAILED", False)
    assert "3" in failed.error.message
    assert failed.result_ref is not None
    assert (path_of(failed.result_ref.output_uri) / "stderr").read_text() == "trouble\n"


def test_many_executions_are_told_of_each_in_order(border: Border, running: RunAgent, tmp_path: Path) -> None:
    uri = script(tmp_path, "true")
    executions = [border.submit(uri) for _ in range(30)]
    with running():
        border.wait_for_end(*executions)
    assert all(border.states(each) == ["accepted", "running", "completed"] for each in executions)
    assert border.refusals == []


def test_a_cancelled_execution_ends_its_job(border: Border, running: RunAgent, tmp_path: Path) -> None:
    execution = border.submit(script(tmp_path, "sleep 300"))
    with running():
        border.wait(lambda: "running" in border.states(execution), "it runs")
        border.cancel(execution)
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "running", "failed"]
    assert border.last(execution).error.code == "CANCELLED"  # type: ignore[union-attr]


def test_the_agent_stops_and_jobs_go_on_and_the_next_one_tells_of_them(
    border: Border, running: RunAgent, settings: AgentSettings, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    execution = border.submit(
        script(tmp_path, f"echo begun >> {tmp_path}/starts; while [ ! -e {go} ]; do sleep 0.1; done")
    )
    with running():
        border.wait(lambda: "running" in border.states(execution), "it runs")
    go.touch()
    with running():
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "running", "completed"]
    assert (tmp_path / "starts").read_text() == "begun\n"


def test_the_first_poll_does_not_wait_for_work_since_nothing_is_submitted_before_its_answer(
    border: Border, settings: AgentSettings, running: RunAgent
):
    with running():
        border.wait(lambda: len(border.polls) > 1, "two polls")

    assert [poll.wait_seconds for poll in border.polls[:2]] == [0, settings.poll_seconds]


def test_an_agent_that_still_waits_for_its_scheduler_keeps_its_folder_to_itself(
    border: Border, settings: AgentSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenure.agent.agent._JOIN_SECONDS", 0.2)
    asked, answered = threading.Event(), threading.Event()

    class Slow(LocalScheduler):
        def submit(self, job: JobSpec) -> str:
            asked.set()
            answered.wait(60)
            return super().submit(job)

    border.submit(script(tmp_path, "true"))
    assert settings.url is not None
    address = Address(settings.url, TOKEN)
    agent = Agent(settings, address, Slow(settings.folder / "local", settings.local))
    living = threading.Thread(target=agent.run)
    living.start()
    assert asked.wait(60)
    agent.stop()
    living.join(60)

    with pytest.raises(StateFolderInUse):
        Agent(settings, address, LocalScheduler(settings.folder / "local", settings.local))
    answered.set()


def test_a_lock_is_taken_where_nothing_can_be_written_into_it(tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to("/dev/full")
    lock = StateLock(tmp_path)
    lock.take()
    with pytest.raises(StateFolderInUse):
        StateLock(tmp_path).take()
    lock.release()


def test_a_request_that_cannot_be_done_is_dropped_and_keeps_no_other_back(
    border: Border, running: RunAgent, settings: AgentSettings, caplog: pytest.LogCaptureFixture
) -> None:
    with running():
        border.wait(lambda: len(border.polls) > 0, "it polls")
    for value in ("{}", "no JSON"):
        ask(settings.folder, CONCLUDE, value)
    ask(settings.folder, DRAIN, "on")
    with running():
        border.wait(lambda: border.polls[-1].draining, "what was asked after it is done")
    assert caplog.text.count("cannot be done and is dropped") == 2
    with closing(Store.reading(settings.folder)) as store:
        assert store.requests() == []


def test_a_defect_in_what_is_done_now_and_then_does_not_end_the_agent(
    border: Border, running: RunAgent, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    seen: list[bool] = []

    def broken(*_: object) -> int:
        seen.append(True)
        raise OSError("a defect")

    monkeypatch.setattr("tenure.agent.agent._TICK", 0.02)
    monkeypatch.setattr("tenure.agent.agent._AFTER_A_DEFECT", 0.02)
    monkeypatch.setattr("tenure.agent.agent.tidy", broken)
    with running():
        border.wait(lambda: bool(seen), "it has come to that")
        border.wait_for_end(border.submit(script(tmp_path, "true")))
