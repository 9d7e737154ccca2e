"""What happens to AiiDA's workers and daemon: each execution ends as it should, with one job in Slurm."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
import pytest

from tenure.agent.aiida.adapter import AiidaScheduler
from tenure.agent.errors import InvalidSettings
from tenure.agent.scheduler import JobSpec, Phase, SchedulerUnavailable
from tests.hpc.with_aiida.bench import AiidaBench, Site, process_of
from tests.waiting import until

bench = pytest.fixture(lambda aiida_bench: aiida_bench, name="bench")


def test_a_worker_killed_before_it_notes_the_number_finds_the_job_again(bench: AiidaBench):
    (bench.site.trouble / "kill").touch()
    job = bench.job("while [ ! -e go ]; do sleep 0.1; done")
    job_id = bench.scheduler.submit(job)
    until((bench.site.trouble / "killed").exists)

    # Slurm has it, though AiiDA has never heard its number.
    (number,) = bench.site.jobs(job.key)
    assert bench.running(job_id).slurm_job_id == number
    until(lambda: process_of(bench, job_id).job_id == number)
    (job.folder / "go").touch()

    assert bench.end_of(job_id).phase is Phase.COMPLETED
    until(lambda: process_of(bench, job_id).state == "finished")
    assert process_of(bench, job_id).exit_status == 0
    assert bench.site.jobs(job.key) == [number]


def test_a_job_that_sbatch_says_is_refused_and_that_is_there_is_taken(bench: AiidaBench):
    (bench.site.trouble / "deny").touch()
    job = bench.job("true")
    job_id = bench.scheduler.submit(job)

    end = bench.end_of(job_id)
    until(lambda: process_of(bench, job_id).ended)

    (number,) = bench.site.jobs(job.key)
    assert (bench.site.trouble / "denied").read_text().strip() == number
    assert (end.phase, end.slurm_job_id, process_of(bench, job_id).job_id) == (Phase.COMPLETED, number, number)


def test_a_database_that_was_locked_for_a_while_is_used_again(bench: AiidaBench):
    (file,) = (bench.site.folder / "aiida" / "store").glob("*.sqlite")
    with closing(sqlite3.connect(file, isolation_level=None)) as somebody:
        somebody.execute("begin exclusive")
        with pytest.raises(SchedulerUnavailable, match="database is locked"):
            bench.scheduler.find(["nobody"])

    job_id = bench.scheduler.submit(bench.job("true"))

    assert bench.end_of(job_id).phase is Phase.COMPLETED


def test_workers_killed_at_any_time_and_a_daemon_killed_whole_lose_nothing(bench: AiidaBench):
    first = bench.job("while [ ! -e go ]; do sleep 0.1; done")
    running = bench.scheduler.submit(first)
    bench.running(running)
    jobs: list[tuple[JobSpec, str]] = []
    for step in ("uploading", "submitting"):
        job = bench.job("sleep 1")
        job_id = bench.scheduler.submit(job)
        jobs.append((job, job_id))
        until(
            lambda job_id=job_id, step=step: process_of(bench, job_id).step == step or process_of(bench, job_id).ended
        )
        kill(workers(bench.site))
    bench.site.daemon()[0].suspend()  # or it would start a worker that nobody kills
    kill(bench.site.daemon())

    for job, job_id in jobs:
        assert bench.end_of(job_id).phase is Phase.COMPLETED  # asking after it has started the daemon anew
        assert len(bench.site.jobs(job.key)) == 1
    (first.folder / "go").touch()
    assert bench.end_of(running).phase is Phase.COMPLETED
    until(lambda: all(process_of(bench, job_id).state == "finished" for _, job_id in [*jobs, (first, running)]))
    assert [process_of(bench, job_id).exit_status for _, job_id in jobs] == [0, 0]


def test_a_process_that_a_killed_agent_left_unfinished_is_no_job_even_where_no_daemon_hears(bench: AiidaBench):
    jobs = [bench.job("true"), bench.job("true")]
    left = [
        bench.scheduler._do(partial(left_unfinished, job.key, state))
        for job, state in zip(jobs, (None, "created"), strict=True)
    ]
    kill(bench.site.daemon())
    patient = bench.site.settings().model_copy(update={"start_daemon": False})

    with patch.object(bench.scheduler._daemon, "_settings", patient):
        assert bench.scheduler.find([job.key for job in jobs]) == {}

    ids = [bench.scheduler.submit(job) for job in jobs]
    assert [bench.end_of(job_id).phase for job_id in ids] == [Phase.COMPLETED, Phase.COMPLETED]
    assert all(bench.scheduler._do(partial(given_up, pk)) for pk in left)
    until(lambda: process_of(bench, ids[0]).ended)
    ended = process_of(bench, ids[0]).pk
    assert not bench.scheduler._do(partial(given_up, ended)), "it has no checkpoint any more because it has ended"


def left_unfinished(key: str, state: str | None) -> int:
    from aiida import orm

    node = orm.CalcJobNode(computer=orm.load_computer("cluster"))
    node.label = key
    node.set_process_state(state)
    return node.store().pk


def given_up(pk: int) -> bool:
    from tenure.agent.aiida import submission

    return submission.given_up(pk)


@pytest.fixture
def refusing(bench: AiidaBench) -> Iterator[None]:
    (bench.site.trouble / "refuse").touch()
    yield
    (bench.site.trouble / "refuse").unlink(missing_ok=True)


@pytest.mark.usefixtures("refusing")
def test_what_aiida_has_paused_is_told_and_can_go_on_or_be_cancelled(bench: AiidaBench):
    goes_on, cancelled = bench.job("true"), bench.job("true")
    ids = [bench.scheduler.submit(goes_on), bench.scheduler.submit(cancelled)]
    paused = [bench.wait_for(job_id, lambda status: status.problem is not None) for job_id in ids]

    process = process_of(bench, ids[0])
    assert process.paused
    assert paused[0].phase is Phase.WAITING
    assert paused[0].problem == paused[0].detail
    assert f"verdi process play {process.pk}" in (paused[0].problem or "")
    bench.scheduler.cancel(ids[1])
    end = bench.end_of(ids[1])
    assert end.failure is not None
    assert end.failure.code == "CANCELLED"
    assert bench.site.jobs(cancelled.key) == []

    (bench.site.trouble / "refuse").unlink()
    bench.site.verdi("process", "play", str(process.pk))
    done = bench.end_of(ids[0])
    assert (done.phase, done.problem) == (Phase.COMPLETED, None)
    assert len(bench.site.jobs(goes_on.key)) == 1


@pytest.mark.parametrize(
    ("change", "words", "what_to_do"),
    [
        ({"computer": "plain"}, "may submit a job twice", "verdi computer duplicate plain"),
        ({"computer": "far"}, "transport core.ssh, which nobody has tried", "verdi computer duplicate far"),
        ({"computer": "nosuch"}, "has no computer 'nosuch'", "verdi computer setup --label nosuch"),
        ({"profile": "nosuch"}, "profile of AiiDA cannot be loaded", "verdi profile list"),
        ({"config_folder": Path("/nonexistent")}, "no AiiDA in /nonexistent", "verdi profile list"),
    ],
)
def test_what_cannot_be_used_says_what_to_do(site: Site, change: dict[str, Any], words: str, what_to_do: str):
    with pytest.raises(InvalidSettings, match=words) as refusal:
        AiidaScheduler(site.settings().model_copy(update=change)).open()
    assert what_to_do in refusal.value.hint


def workers(site: Site) -> list[psutil.Process]:
    return [each for each in site.daemon()[1:] if "worker" in each.cmdline()]


def kill(victims: list[psutil.Process]) -> None:
    for victim in victims:
        os.kill(victim.pid, signal.SIGKILL)
    psutil.wait_procs(victims, timeout=10)
