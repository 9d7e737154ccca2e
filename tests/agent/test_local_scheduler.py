"""The local adapter keeps the contract of schedulers, by files alone."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tenure.agent.local import supervisor
from tenure.agent.local.scheduler import LocalScheduler
from tenure.agent.local.supervisor import MARK
from tenure.agent.scheduler import Phase, Scheduler, SchedulerUnavailable
from tenure.agent.settings import LocalSettings
from tenure.remote.model.fields import ResourceShape
from tenure.testing.scheduler_contract import SchedulerBench, SchedulerContract


class LocalBench(SchedulerBench):
    too_much = ResourceShape(cpu=1000, memory_mib=256, walltime_seconds=300)
    pause = 0.02

    def __init__(self, folder: Path, **settings: object) -> None:
        self.folder = folder
        self.settings = LocalSettings.model_validate({"cpu": 8, "grace_seconds": 1, **settings})
        self.scheduler = self.reopened()

    def reopened(self) -> Scheduler:
        scheduler = LocalScheduler(self.folder / "local", self.settings)
        scheduler.open()
        return scheduler

    @contextmanager
    def away(self) -> Iterator[None]:
        jobs = self.folder / "local" / "jobs"
        jobs.rename(jobs.with_name("elsewhere"))
        yield
        jobs.with_name("elsewhere").rename(jobs)

    def processes(self, job_id: str) -> list[psutil.Process]:
        """All that belong to a job, by the mark in their environment."""
        mark, found = str(self.folder / "local" / "jobs" / job_id), []
        for process in psutil.process_iter():
            try:
                if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except psutil.Error:
                continue
        return found


@pytest.fixture
def bench(tmp_path: Path) -> LocalBench:
    return LocalBench(tmp_path)


class TestLocalScheduler(SchedulerContract):
    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[LocalBench]:
        bench = LocalBench(tmp_path)
        yield bench
        for path in (tmp_path / "local" / "jobs").iterdir():
            (path / "cancel").touch()


def test_a_job_that_is_there_is_known_though_its_folder_could_not_be_made_safe(
    bench: LocalBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync = supervisor.sync_folder

    def fails(folder: Path) -> None:
        if folder.name == "jobs":
            raise OSError(5, "Input/output error")
        sync(folder)

    job = bench.job("sleep 300")
    with monkeypatch.context() as patch:
        patch.setattr("tenure.agent.local.supervisor.sync_folder", fails)
        with pytest.raises(SchedulerUnavailable):
            bench.scheduler.submit(job)
    job_id = bench.scheduler.withdraw(job)
    assert job_id is not None
    bench.scheduler.cancel(job_id)
    assert bench.end_of(job_id).phase is Phase.FAILED
    assert bench.reopened().withdraw(job) == job_id


def gone(bench: LocalBench, job_id: str) -> bool:
    deadline = time.monotonic() + 20
    while bench.processes(job_id) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not bench.processes(job_id)


def test_nothing_of_a_cancelled_job_is_left_not_even_what_took_a_session_of_its_own(bench: LocalBench) -> None:
    job = bench.job("setsid sleep 300 & setsid setsid sleep 301 & trap '' TERM; touch up; sleep 302; sleep 303")
    job_id = bench.scheduler.submit(job)
    bench.wait_for(job_id, lambda _: (job.folder / "up").exists() and len(bench.processes(job_id)) >= 3)
    bench.scheduler.cancel(job_id)
    assert bench.end_of(job_id).phase is Phase.FAILED
    assert gone(bench, job_id)


def test_what_a_job_leaves_running_ends_with_it(bench: LocalBench) -> None:
    job_id = bench.scheduler.submit(bench.job("setsid sleep 300 & exit 0"))
    assert bench.end_of(job_id).phase is Phase.COMPLETED
    assert gone(bench, job_id)


def test_a_job_whose_supervisor_was_killed_is_lost_and_may_be_tried_again(bench: LocalBench) -> None:
    job_id = bench.scheduler.submit(bench.job("setsid sleep 300 & sleep 300"))
    bench.running(job_id)
    bench.wait_for(job_id, lambda _: len(bench.processes(job_id)) >= 2)
    supervisor = psutil.Process(bench.processes(job_id)[0].ppid())
    while "supervisor.py" not in " ".join(supervisor.cmdline()):
        supervisor = psutil.Process(supervisor.ppid())
    os.kill(supervisor.pid, signal.SIGKILL)
    status = bench.end_of(job_id)
    assert status.failure is not None
    assert (status.failure.code, status.failure.retryable) == ("NODE_FAIL", True)
    assert gone(bench, job_id)
    assert bench.reopened().poll([job_id])[job_id] == status


def test_jobs_wait_until_there_are_cores_for_them_and_begin_in_their_order(tmp_path: Path) -> None:
    bench = LocalBench(tmp_path, cpu=2)
    two = bench.small.model_copy(update={"cpu": 2})
    lines = "while [ ! -e go ]; do sleep 0.05; done"
    jobs = [bench.job(lines, resources=two), bench.job(lines, resources=two), bench.job(lines)]
    ids = [bench.scheduler.submit(job) for job in jobs]
    bench.running(ids[0])
    assert [bench.scheduler.poll(ids)[each].phase for each in ids[1:]] == [Phase.WAITING, Phase.WAITING]
    for job, job_id in zip(jobs, ids, strict=True):
        bench.running(job_id)
        (job.folder / "go").touch()
        assert bench.end_of(job_id).phase is Phase.COMPLETED


def test_a_waiting_job_that_is_cancelled_never_begins(tmp_path: Path) -> None:
    bench = LocalBench(tmp_path, cpu=1)
    first = bench.scheduler.submit(bench.job("sleep 300"))
    job = bench.job("touch begun")
    second = bench.scheduler.submit(job)
    bench.scheduler.cancel(second)
    status = bench.scheduler.poll([second])[second]
    assert status.failure is not None
    assert status.failure.code == "CANCELLED"
    assert not (job.folder / "begun").exists()
    bench.scheduler.cancel(first)
    bench.end_of(first)


def test_a_job_that_nobody_began_before_the_agent_died_is_begun_by_the_next(tmp_path: Path) -> None:
    bench = LocalBench(tmp_path, cpu=1)
    first = bench.scheduler.submit(bench.job("sleep 300"))
    second = bench.scheduler.submit(bench.job("true"))
    after = bench.reopened()
    after.cancel(first)
    assert bench.end_of(second, after).phase is Phase.COMPLETED


def test_a_job_begins_once_however_many_supervisors_are_sent(tmp_path: Path) -> None:
    bench = LocalBench(tmp_path)
    job = bench.job("echo begun >> starts; while [ ! -e go ]; do sleep 0.05; done")
    job_id = bench.scheduler.submit(job)
    for _ in range(3):
        other = bench.reopened()
        other.poll([job_id])  # sees a job that has not begun, and sends another one
    bench.running(job_id)
    (job.folder / "go").touch()
    assert bench.end_of(job_id).phase is Phase.COMPLETED
    assert (job.folder / "starts").read_text() == "begun\n"


def test_a_half_written_submission_is_none(tmp_path: Path) -> None:
    bench = LocalBench(tmp_path)
    jobs = tmp_path / "local" / "jobs"
    (jobs / ".new").mkdir()
    (jobs / ".new" / "job.json").write_text("{")
    again = bench.reopened()
    assert again.find(["anything"]) == {}
    assert again.submit(bench.job("true")) == "1"
    assert not (jobs / ".new").exists()


def test_a_script_that_cannot_be_started_fails_with_the_reason(bench: LocalBench) -> None:
    job = bench.job("true")
    job.script.write_text("#!/no/such/shell\n")
    status = bench.end_of(bench.scheduler.submit(job))
    assert status.failure is not None
    assert "No such file" in status.failure.message


def test_numbers_of_jobs_are_never_given_twice(bench: LocalBench) -> None:
    ids = [bench.scheduler.submit(bench.job("true")) for _ in range(3)]
    for job_id in ids:
        bench.end_of(job_id)
    assert bench.reopened().submit(bench.job("true")) not in ids


def test_what_ended_long_ago_is_forgotten_and_its_number_is_not_given_again(bench: LocalBench) -> None:
    jobs = [bench.job("true") for _ in range(2)]
    ids = [bench.scheduler.submit(job) for job in jobs]
    for job_id in ids:
        bench.end_of(job_id)
        long_ago = time.time() - 100 * 86400
        os.utime(bench.folder / "local" / "jobs" / job_id / "end.json", (long_ago, long_ago))
    after = bench.reopened()
    assert set(after.find([job.key for job in jobs])) == {jobs[1].key}
    assert after.submit(bench.job("true")) == "3"
