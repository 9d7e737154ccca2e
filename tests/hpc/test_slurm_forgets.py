"""A controller that forgets: what has ended is proved by the file of completions, and the rest is unknown."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.agent.scheduler import Phase, SchedulerUnavailable
from tenure.demo.hpc.slurm import SlurmCluster
from tests.hpc.bench import SlurmBench, counted_programs


@pytest.fixture(scope="module")
def forgetful(slurm: SlurmCluster, short_folder: Path) -> Iterator[SlurmCluster]:
    """A Slurm of its own, whose controller is made to forget all jobs."""
    with SlurmCluster(short_folder / "forgetful") as cluster:
        yield cluster


@pytest.fixture
def bench(forgetful: SlurmCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> SlurmBench:
    for name, value in forgetful.environment.items():
        monkeypatch.setenv(name, value)
    return SlurmBench(forgetful, tmp_path)


def forget(cluster: SlurmCluster, *, numbers: bool = False) -> None:
    """With ``numbers`` it also begins to count anew, as one whose ``StateSaveLocation`` was lost."""
    assert cluster.controller is not None
    cluster.controller.stop()
    if numbers:
        shutil.rmtree(cluster.folder / "state")
        (cluster.folder / "state").mkdir()
    cluster.start_controller(forget=True)
    assert cluster.run("squeue", "-a", "-t", "all", "-h") == ""


def test_the_end_of_a_forgotten_job_is_proved_and_a_job_without_one_is_unknown(bench: SlurmBench):
    good, bad, without = bench.job("true"), bench.job("exit 3"), bench.job("sleep 300")
    ids = {each.key: bench.scheduler.submit(each) for each in (good, bad, without)}
    for each in (good, bad):
        bench.end_of(ids[each.key])
    bench.running(ids[without.key])

    forget(bench.slurm)

    told = bench.reopened().poll(list(ids.values()))
    assert set(told) == {ids[good.key], ids[bad.key]}
    assert (told[ids[good.key]].phase, told[ids[good.key]].key) == (Phase.COMPLETED, good.key)
    assert (told[ids[bad.key]].phase, told[ids[bad.key]].exit_code) == (Phase.FAILED, 3)
    assert {key: status.job_id for key, status in bench.reopened().find(ids).items()} == {
        each.key: ids[each.key] for each in (good, bad)
    }


def test_a_job_whose_number_was_lost_is_not_run_again_although_slurm_has_forgotten_it(
    bench: SlurmBench, tmp_path: Path
):
    (tmp_path / "lost").mkdir()
    real = shutil.which("sbatch")
    programs = counted_programs(tmp_path / "lost", bench.calls, {"sbatch": f'{real} "$@" >/dev/null; exit 1'})
    blind = SlurmBench(bench.slurm, tmp_path / "lost", programs=programs, completions=tmp_path / "none")
    job = bench.job("echo . >>begun")
    with pytest.raises(SchedulerUnavailable):
        blind.scheduler.submit(job)
    number = bench.scheduler.find([job.key])[job.key].job_id
    bench.end_of(number)
    forget(bench.slurm)

    assert blind.scheduler.find([job.key]) == {}
    assert blind.scheduler.submit(job) == number
    assert blind.scheduler.poll([number]) == {}
    assert bench.called("sbatch") == 1
    assert (job.folder / "begun").read_text() == ".\n"


def test_a_number_that_is_given_a_second_time_is_not_taken_for_the_first_job(bench: SlurmBench):
    first = bench.job("true")
    number = bench.scheduler.submit(first)
    bench.end_of(number)
    forget(bench.slurm, numbers=True)
    second = bench.job("sleep 300")
    while int(again := bench.reopened().submit(second)) < int(number):
        second = bench.job("sleep 300")
    assert again == number

    # Who knows the key is told of its own job; who does not is told whose job it is.
    assert bench.scheduler.poll([number])[number].phase is Phase.COMPLETED
    assert bench.reopened().poll([number])[number].key == second.key
    told_of_it = bench.reopened()
    told_of_it.know({number: first.key})
    assert told_of_it.poll([number])[number].phase is Phase.COMPLETED
    bench.slurm.run("scancel", number)
