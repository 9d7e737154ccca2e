"""The contract of ``tenure.agent.scheduler.Scheduler``, to be run on every adapter (design 04, Adapter boundary).

Subclass ``SchedulerContract`` in a test module and give it the fixture ``bench``, a ``SchedulerBench`` over the adapter::

    class TestMyScheduler(SchedulerContract):
        @pytest.fixture
        def bench(self, tmp_path):
            return MyBench(tmp_path)

What the contract asks for: a job can be found by its key whatever has been forgotten, one question for any number of
jobs, nothing concluded from silence, nothing given up that may become a job yet, refusals told apart from absence, ends
told with a reason.
"""

from __future__ import annotations

import itertools
import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tenure.agent.scheduler import JobSpec, JobStatus, Phase, Rejected, Scheduler, SchedulerUnavailable
from tenure.remote.model.contracts import Placement
from tenure.remote.model.fields import ResourceShape

_numbers = itertools.count(1)
_ENDED = (Phase.COMPLETED, Phase.FAILED)
_ORDER = (Phase.WAITING, Phase.RUNNING, Phase.ENDING, Phase.COMPLETED, Phase.FAILED)


class SchedulerBench(ABC):
    """An adapter under test, and what a test has to do behind its back."""

    scheduler: Scheduler
    """Open."""
    folder: Path
    """Where jobs may have their folders: the scheduler's jobs must reach it."""
    placement: Placement = Placement()
    small = ResourceShape(cpu=1, memory_mib=256, walltime_seconds=300)
    """What a job of the tests asks for."""
    too_much: ResourceShape | None = None
    """What this scheduler refuses for good; None where it refuses nothing."""
    shortest_walltime: int = 1
    """The shortest wall time that it knows, in seconds."""
    enforces_memory = True
    patience = 60.0
    """Seconds within which a small job has surely come to its end here."""
    pause = 0.05
    """Seconds between two looks."""

    @abstractmethod
    def reopened(self) -> Scheduler:
        """The same scheduler by a new adapter, as after the agent's process died."""

    @abstractmethod
    def away(self) -> AbstractContextManager[None]:
        """While it holds, the scheduler does not answer."""

    def questions(self) -> int | None:
        """How many times the scheduler has been asked how jobs stand. None where the adapter asks nobody."""
        return None

    def let_time_run_out(self, job_id: str) -> None:  # noqa: B027 - most adapters need not do anything
        """See to it that the wall time of a running job is over soon; by default it runs out by itself."""

    def job(
        self, lines: str, *, key: str | None = None, resources: ResourceShape | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> JobSpec:  # fmt: skip
        """A job that runs these lines of shell, as the agent would have written it."""
        folder = self.folder / f"job{next(_numbers)}"
        (folder / "results").mkdir(parents=True)
        script = folder / "script"
        script.write_text(f"#!/bin/sh\n{lines}\n")
        script.chmod(0o755)
        return JobSpec(
            key or str(uuid.uuid4()), script, folder, self.placement, resources or self.small, environment or {}
        )

    def wait_for(
        self, job_id: str, wanted: Callable[[JobStatus], bool], scheduler: Scheduler | None = None
    ) -> JobStatus:
        """Poll until the job stands as wanted; fails after ``patience`` seconds."""
        deadline = time.monotonic() + self.patience
        seen: JobStatus | None = None
        while time.monotonic() < deadline:
            seen = (scheduler or self.scheduler).poll([job_id]).get(job_id, seen)
            if seen is not None and wanted(seen):
                return seen
            time.sleep(self.pause)
        pytest.fail(f"Job {job_id} did not come to stand as wanted in {self.patience:.0f} s: {seen}")

    def end_of(self, job_id: str, scheduler: Scheduler | None = None) -> JobStatus:
        """Poll until the job has ended."""
        return self.wait_for(job_id, lambda status: status.phase in _ENDED, scheduler)

    def running(self, job_id: str) -> JobStatus:
        """Poll until the job runs."""
        return self.wait_for(job_id, lambda status: status.phase is Phase.RUNNING)


class SchedulerContract:
    """Give it the fixture ``bench``."""

    def test_it_says_what_it_is(self, bench: SchedulerBench) -> None:
        assert bench.scheduler.name
        assert bench.scheduler.settle_seconds >= 0
        assert isinstance(bench.scheduler.job_ids_are_reported, bool)

    def test_a_job_runs_in_its_folder_and_its_output_is_there(self, bench: SchedulerBench) -> None:
        job = bench.job("pwd; echo trouble >&2; echo 42 > results/answer")
        job_id = bench.scheduler.submit(job)
        status = bench.end_of(job_id)
        assert status.phase is Phase.COMPLETED, status
        assert (status.job_id, status.key, status.failure) == (job_id, job.key, None)
        bench.scheduler.collect(job_id, job.folder)
        assert Path((job.folder / "stdout").read_text().strip()).name
        assert (job.folder / "stderr").read_text() == "trouble\n"
        assert (job.folder / "results" / "answer").read_text() == "42\n"

    def test_a_job_that_fails_says_so_and_is_not_to_be_repeated(self, bench: SchedulerBench) -> None:
        status = bench.end_of(bench.scheduler.submit(bench.job("exit 3")))
        assert status.phase is Phase.FAILED
        assert status.failure is not None
        assert (status.failure.retryable, status.exit_code) == (False, 3)
        assert status.failure.code
        assert "3" in status.failure.message

    def test_phases_are_seen_in_their_order(self, bench: SchedulerBench) -> None:
        job = bench.job("while [ ! -e go ]; do sleep 0.1; done")
        job_id = bench.scheduler.submit(job)
        seen = [bench.running(job_id).phase]
        (job.folder / "go").touch()

        def ended(status: JobStatus) -> bool:
            seen.append(status.phase)
            return status.phase in _ENDED

        bench.wait_for(job_id, ended)
        assert [_ORDER.index(phase) for phase in seen] == sorted(_ORDER.index(phase) for phase in seen)
        assert seen[-1] is Phase.COMPLETED

    def test_the_end_of_a_job_stays_what_it_was(self, bench: SchedulerBench) -> None:
        job_id = bench.scheduler.submit(bench.job("exit 1"))
        once = bench.end_of(job_id)
        assert bench.scheduler.poll([job_id]).get(job_id, once) == once

    def test_times_are_told_with_their_zone(self, bench: SchedulerBench) -> None:
        status = bench.end_of(bench.scheduler.submit(bench.job("sleep 1")))
        given = [at for at in (status.started_at, status.ended_at) if at is not None]
        assert all(at.tzinfo is not None for at in given)
        assert given == sorted(given)

    def test_the_environment_arrives_unchanged(self, bench: SchedulerBench) -> None:
        odd = {"PLAIN": "1", "ODD": "a b'c\"d$HOME`x`, e=f;\\ü", "EMPTY": ""}
        job = bench.job('printf "%s|%s|%s|" "$PLAIN" "$ODD" "${EMPTY-unset}"', environment=odd)
        job_id = bench.scheduler.submit(job)
        bench.end_of(job_id)
        bench.scheduler.collect(job_id, job.folder)
        assert (job.folder / "stdout").read_text() == f"1|{odd['ODD']}||"

    def test_what_was_never_submitted_is_found_nowhere(self, bench: SchedulerBench) -> None:
        assert bench.scheduler.find([str(uuid.uuid4()), "nothing"]) == {}
        assert bench.scheduler.find([]) == {}

    def test_an_unknown_id_is_unknown_and_nothing_else(self, bench: SchedulerBench) -> None:
        assert bench.scheduler.poll(["987654321"]) == {}
        assert bench.scheduler.poll([]) == {}
        bench.scheduler.cancel("987654321")

    def test_a_job_is_found_by_its_key_after_its_id_was_lost(self, bench: SchedulerBench) -> None:
        jobs = [bench.job("sleep 300"), bench.job("sleep 300"), bench.job("true")]
        ids = {job.key: bench.scheduler.submit(job) for job in jobs}
        bench.end_of(ids[jobs[2].key])
        bench.scheduler.close()
        found = bench.reopened().find([*ids, "nothing"])
        assert {key: status.job_id for key, status in found.items()} == ids
        assert all(status.key == key for key, status in found.items())
        assert found[jobs[2].key].phase is Phase.COMPLETED
        self._end(bench, ids.values())

    @pytest.mark.parametrize(
        "key",
        [
            "with space", "-rf", "$(touch /tmp/no)", "a;b|c&d", "quo\"te'd", "per%j%%", "com,ma=b", "ünï-❄", "a/b/../c",
            "[1-5]", "back\\slash", "*", "x" * 200,
        ],
    )  # fmt: skip
    def test_any_key_is_found_again_and_no_other(self, bench: SchedulerBench, key: str) -> None:
        key = f"{key[:160]}{uuid.uuid4()}"
        job_id = bench.scheduler.submit(bench.job("true", key=key))
        found = bench.scheduler.find([key, key[:-1], key + "x", key.upper()])
        assert {found_key: status.job_id for found_key, status in found.items()} == {key: job_id}
        assert found[key].key == key
        bench.end_of(job_id)

    def test_a_job_outlives_the_adapter(self, bench: SchedulerBench) -> None:
        job = bench.job("while [ ! -e go ]; do sleep 0.1; done; echo done")
        job_id = bench.scheduler.submit(job)
        bench.running(job_id)
        bench.scheduler.close()
        second = bench.reopened()
        assert second.poll([job_id])[job_id].phase is Phase.RUNNING
        (job.folder / "go").touch()
        assert bench.end_of(job_id, second).phase is Phase.COMPLETED

    def test_a_running_job_is_cancelled_with_all_that_it_began(self, bench: SchedulerBench) -> None:
        job = bench.job("echo $$ > pid; sleep 300 & sleep 300")
        job_id = bench.scheduler.submit(job)
        bench.running(job_id)
        bench.scheduler.cancel(job_id)
        bench.scheduler.cancel(job_id)
        status = bench.end_of(job_id)
        assert status.phase is Phase.FAILED
        assert status.failure is not None
        assert status.failure.retryable is False
        assert "CANCEL" in status.failure.code.upper()
        bench.scheduler.cancel(job_id)

    def test_a_job_is_cancelled_at_once_after_it_was_submitted(self, bench: SchedulerBench) -> None:
        job_id = bench.scheduler.submit(bench.job("sleep 300"))
        bench.scheduler.cancel(job_id)
        assert bench.end_of(job_id).phase is Phase.FAILED

    def test_what_was_never_submitted_is_withdrawn_and_leaves_no_job(self, bench: SchedulerBench) -> None:
        job = bench.job("true")
        assert bench.scheduler.withdraw(job) is None
        assert bench.scheduler.find([job.key]) == {}

    def test_what_became_a_job_is_not_withdrawn_without_it(self, bench: SchedulerBench) -> None:
        job = bench.job("sleep 300")
        job_id = bench.scheduler.submit(job)
        assert bench.scheduler.withdraw(job) == job_id
        bench.scheduler.close()
        second = bench.reopened()
        assert second.withdraw(job) == job_id
        second.cancel(job_id)
        assert bench.end_of(job_id, second).phase is Phase.FAILED
        assert second.withdraw(job) == job_id

    def test_what_it_refuses_is_told_apart_and_leaves_nothing(self, bench: SchedulerBench) -> None:
        if bench.too_much is None:
            pytest.skip("this scheduler refuses nothing")
        job = bench.job("true", resources=bench.too_much)
        with pytest.raises(Rejected) as refusal:
            bench.scheduler.submit(job)
        assert refusal.value.failure.retryable is False
        assert refusal.value.failure.code
        assert refusal.value.failure.message
        assert bench.scheduler.find([job.key]) == {}

    def test_too_little_time_ends_a_job(self, bench: SchedulerBench) -> None:
        short = bench.small.model_copy(update={"walltime_seconds": bench.shortest_walltime})
        job_id = bench.scheduler.submit(bench.job("sleep 300", resources=short))
        bench.wait_for(job_id, lambda status: status.phase is not Phase.WAITING)
        bench.let_time_run_out(job_id)
        status = bench.end_of(job_id)
        assert status.failure is not None
        assert (status.phase, status.failure.code) == (Phase.FAILED, "TIMEOUT")
        assert status.failure.retryable is False

    def test_too_little_memory_ends_a_job(self, bench: SchedulerBench) -> None:
        if not bench.enforces_memory:
            pytest.skip("this scheduler watches no memory here")
        lines = "python3 -c \"import time; x = b'1' * (400 * 2**20); time.sleep(60)\""
        small = bench.small.model_copy(update={"memory_mib": 100})
        status = bench.end_of(bench.scheduler.submit(bench.job(lines, resources=small)))
        assert status.failure is not None
        assert (status.phase, status.failure.code) == (Phase.FAILED, "OUT_OF_MEMORY")
        assert status.failure.retryable is False

    def test_one_question_tells_of_all_jobs(self, bench: SchedulerBench) -> None:
        ids = [bench.scheduler.submit(bench.job("true")) for _ in range(5)]
        before = bench.questions()
        if before is None:
            pytest.skip("this adapter asks nobody")
        bench.scheduler.poll(ids)
        after = bench.questions()
        assert after is not None
        assert after - before == 1
        for job_id in ids:
            bench.end_of(job_id)

    def test_silence_is_no_answer(self, bench: SchedulerBench) -> None:
        job = bench.job("while [ ! -e go ]; do sleep 0.1; done")
        job_id = bench.scheduler.submit(job)
        bench.running(job_id)
        other = bench.job("true")
        with bench.away():
            for ask in (
                lambda: bench.scheduler.poll([job_id]),
                lambda: bench.scheduler.find([job.key]),
                lambda: bench.scheduler.find(["nothing"]),
                lambda: bench.scheduler.submit(other),
                lambda: bench.scheduler.withdraw(other),
                lambda: bench.scheduler.cancel(job_id),
            ):
                with pytest.raises(SchedulerUnavailable):
                    ask()
        assert bench.scheduler.withdraw(other) is None
        (job.folder / "go").touch()
        assert bench.end_of(job_id).phase is Phase.COMPLETED

    @staticmethod
    def _end(bench: SchedulerBench, ids: object) -> None:
        for job_id in ids:  # type: ignore[attr-defined]
            bench.scheduler.cancel(job_id)
