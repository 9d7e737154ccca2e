"""Executions as CalcJobs on this machine itself, without a scheduler below AiiDA."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from tenure.agent.scheduler import Phase
from tests.hpc.with_aiida.bench import AiidaBench, Site, process_of
from tests.waiting import until


@pytest.fixture(scope="module")
def bench(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AiidaBench]:
    here = AiidaBench(site, tmp_path_factory.mktemp("jobs"), "here")
    yield here
    here.close()


def test_ends_are_told_as_the_script_left_them(bench: AiidaBench):
    short = bench.small.model_copy(update={"walltime_seconds": 2})
    good = bench.job("pwd; echo 42 > results/answer", environment={"TENURE_X": "a 'b'"})
    jobs = [good, bench.job("exit 3"), bench.job("sleep 300", resources=short)]
    ids = [bench.scheduler.submit(job) for job in jobs]

    ends = [bench.end_of(job_id) for job_id in ids]

    assert [end.phase for end in ends] == [Phase.COMPLETED, Phase.FAILED, Phase.FAILED]
    assert [end.failure.code for end in ends[1:] if end.failure] == ["FAILED", "TIMEOUT"]
    assert [end.failure.retryable for end in ends[1:] if end.failure] == [False, False]
    assert [end.exit_code for end in ends] == [0, 3, None]
    assert [end.slurm_job_id for end in ends] == [None] * 3
    assert (good.folder / "stdout").read_text().strip() == str(good.folder.resolve())
    assert (good.folder / "results" / "answer").read_text() == "42\n"
    assert bench.scheduler.find([job.key for job in jobs]).keys() == {job.key for job in jobs}


def test_a_running_job_is_cancelled_with_what_it_began(bench: AiidaBench):
    job = bench.job("echo $$ > pid; sleep 300")
    job_id = bench.scheduler.submit(job)
    until((job.folder / "pid").exists)

    bench.scheduler.cancel(job_id)

    end = bench.end_of(job_id)
    assert end.failure is not None
    assert (end.phase, end.failure.code) == (Phase.FAILED, "CANCELLED")
    until(lambda: not psutil.pid_exists(int((job.folder / "pid").read_text())))


def test_a_job_that_is_killed_from_outside_is_no_success(bench: AiidaBench):
    job = bench.job("touch begun; sleep 300")
    job_id = bench.scheduler.submit(job)
    until((job.folder / "begun").exists)
    until(lambda: process_of(bench, job_id).job_id is not None)
    top = psutil.Process(int(process_of(bench, job_id).job_id or 0))

    for each in [top, *top.children(recursive=True)]:
        each.kill()

    end = bench.end_of(job_id)
    assert end.failure is not None
    assert (end.phase, end.failure.code, end.failure.retryable) == (Phase.FAILED, "ENDED_FROM_OUTSIDE", False)
