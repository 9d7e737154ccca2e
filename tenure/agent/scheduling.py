"""Everything that is asked of the scheduler, from one thread: submit, watch, cancel, bring.

A job is submitted once. That the scheduler is about to get it is written down before; whatever happens then, the next thing
asked is whether it has a job under this key. Where it cannot answer, nothing is submitted and nothing is concluded.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from tenure.agent import progress
from tenure.agent.backoff import pause_after
from tenure.agent.execution import WITH_JOB, Execution, Stage
from tenure.agent.interval import seconds_to_next_look
from tenure.agent.lease import NodeLease
from tenure.agent.scheduler import JobStatus, Rejected, Scheduler, SchedulerUnavailable
from tenure.agent.script import folder_of, job_of
from tenure.agent.settings import AgentSettings
from tenure.agent.standing import SCHEDULER, Standing
from tenure.agent.store.store import Store
from tenure.agent.telling import LOG, tell

#: So many of each kind are looked for, and then submitted one after the other.
_BATCH = 50
#: So many keys are named in one question.
_QUESTION = 2 * _BATCH
#: After so long the jobs that there are come first again: where each submission takes its time, they are not to wait for all.
_BATCH_SECONDS = 10.0
_FIRST, _LONGEST = 1.0, 60.0
_IDLE = 60.0
_CANCEL_AGAIN = 15.0
_SEARCH_AGAIN = 60.0
_SUBMIT, _CANCEL = "submit", "cancel"


class _NotTaken(SchedulerUnavailable):
    """What was submitted is not known to have been taken."""


class Scheduling:
    """Driven by the agent: ``open`` until it is true, then ``round`` again and again."""

    def __init__(
        self, scheduler: Scheduler, store: Store, settings: AgentSettings, standing: Standing, lease: NodeLease,
        clock: Callable[[], float], stopping: Callable[[], bool],
    ) -> None:  # fmt: skip
        self.scheduler = scheduler
        self._lease = lease
        self._store, self._settings, self._standing, self._clock = store, settings, standing, clock
        self._stopping = stopping
        self._failures = 0
        self._not_taken = 0
        self._rests_until = float("-inf")
        self._looks_in_vain = 0
        self._looks_again_at = float("-inf")
        self._troubles: dict[str, str] = {}
        """What the scheduler did not do, while it may do the rest."""
        self._opened = False
        self._look_at = 0.0
        self._looked_at = float("-inf")
        self._rung = threading.Event()
        self._rung_at: float | None = None
        self._canceled: dict[str, float] = {}
        self._searched = float("-inf")

    def step(self) -> float:
        """Do what is to be done now; in how many seconds to come again, unless something changes before."""
        try:
            if not self._opened:
                self._open()
            wait = self._round()
        except SchedulerUnavailable as error:
            pause = pause_after(self._failures, _FIRST, _LONGEST)
            self._failures += 1
            self._standing.troubled(SCHEDULER, f"The scheduler does not answer: {error}")
            return pause
        self._failures = 0
        trouble = next(iter(self._troubles.values()), None)
        if trouble is not None:
            self._standing.troubled(SCHEDULER, trouble)
        else:
            self._standing.fine(SCHEDULER)
        return wait

    def rung(self) -> None:
        """Somebody says that a job has begun or ended: ask at the next step. From any thread."""
        self._rung.set()

    def close(self) -> None:
        """Let go of the scheduler. Jobs go on."""
        if self._opened:
            self.scheduler.close()

    def _open(self) -> None:
        self.scheduler.open()
        self._opened = True
        self._standing.scheduler_is(self.scheduler.name)
        now = self._clock()
        for execution in self._store.due(Stage.SUBMITTING, float("inf")):
            # Whoever was submitting it when the agent died may still be at it.
            self._wait_for_its_job(execution, now, "The agent was interrupted while it submitted this.")

    def _round(self) -> float:
        now = self._clock()
        waits = [self._submit_unless_resting(now), self._bring(now)]
        jobs = [execution for execution in self._store.open_executions() if execution.stage in WITH_JOB]
        self._cancel(jobs)
        now = self._clock()
        self._hear(now)
        wait = seconds_to_next_look(jobs, now, self._settings.watch, self._rung_at)
        if wait is None:
            return max(min(waits), 0.0)
        self._look_at = min(max(self._look_at, now), now + wait)
        if now >= self._look_at:
            self._looked_at = now
            self._look(jobs)
            self._look_at = self._clock() + wait
        waits.append(self._look_at - self._clock())
        return max(min(waits), 0.0)

    def _hear(self, now: float) -> None:
        if self._rung.is_set():
            self._rung.clear()  # before the look: whoever rings during it is heard after it
            self._rung_at = now
            self._look_at = min(self._look_at, self._looked_at + self._settings.watch.rung_seconds)

    # Submitting

    def _submit_unless_resting(self, now: float) -> float:
        """A scheduler that takes no jobs may tell all the same how those stand that it has."""
        rests = self._rests_until - time.monotonic()
        if rests > 0:
            return rests
        try:
            wait = self._submit(now)
        except SchedulerUnavailable as error:
            pause = pause_after(self._not_taken, _FIRST, _LONGEST)
            self._not_taken += 1
            self._rests_until = time.monotonic() + pause
            taken = "takes no jobs" if isinstance(error, _NotTaken) else "does not answer"
            self._troubles[_SUBMIT] = f"The scheduler {taken}: {error}"
            return pause
        self._not_taken = 0
        self._troubles.pop(_SUBMIT, None)
        return wait

    def _submit(self, now: float) -> float:
        holds = self._lease.holds()
        if holds:
            self._looks_in_vain, self._looks_again_at = 0, float("-inf")
            ready = self._store.due(Stage.SUBMITTING, now, _BATCH) + self._store.due(Stage.PREPARED, now, _BATCH)
        else:
            # What may be a job already is looked for in any case, though less and less often while nothing may be submitted.
            ready = self._store.due(Stage.SUBMITTING, now) if time.monotonic() >= self._looks_again_at else []
        if ready:
            found: dict[str, JobStatus] = {}
            for start in range(0, len(ready), _QUESTION):
                found |= self.scheduler.find([each.execution_id for each in ready[start : start + _QUESTION]])
            begun = time.monotonic()
            # What was not taken before comes last: it may be the one that the scheduler does not answer to.
            for execution in sorted(ready, key=lambda each: each.attempts):
                if self._stopping() or time.monotonic() - begun > _BATCH_SECONDS:
                    return 0.0
                self._submit_one(execution, found.get(execution.execution_id))
            if not holds:
                self._looks_again_at = time.monotonic() + pause_after(self._looks_in_vain, _FIRST, _LONGEST)
                self._looks_in_vain += 1
            return 0.0
        stages = (Stage.SUBMITTING, Stage.PREPARED) if holds else (Stage.SUBMITTING,)
        nexts = [self._store.next_due(stage) for stage in stages]
        rests = self._looks_again_at - time.monotonic()
        return min((max(at - now, rests, 0.01) for at in nexts if at is not None), default=_IDLE)

    def _submit_one(self, execution: Execution, there: JobStatus | None) -> None:
        key = execution.execution_id
        if there is not None:
            self._has_job(execution, there.job_id, adopted=True)
            return
        if execution.cancel_at is not None:
            self._withdraw(execution)
            return
        now = self._clock()
        if not self._lease.holds():
            said = "Not submitted while the server does not answer."
            self._store.change(key, lambda each: progress.still_without_job(each, said), now)
            return
        about = self._store.change(key, lambda each: progress.submitting(each, now), now)
        if about is None or about.stage is not Stage.SUBMITTING or about.cancel_at is not None:
            return  # canceled meanwhile: the next round sees to it
        try:
            job_id = self.scheduler.submit(job_of(self._settings, execution.work))
        except Rejected as rejected:
            failure, now = rejected.failure, self._clock()
            said = "The scheduler refused it."
            self._store.change(key, lambda each: progress.given_up(each, failure, now, said), now)
            tell(execution, "was refused by the scheduler: %s", rejected, level=logging.WARNING)
        except SchedulerUnavailable as error:
            # Others come first next time: what is not answered may be this one's doing.
            pause = pause_after(about.attempts, _FIRST, _LONGEST)
            problem = f"It was not answered whether it was submitted: {error}"
            self._wait_for_its_job(about, self._clock(), problem, pause)
            raise _NotTaken(str(error)) from error
        except Exception as error:  # a defect of the adapter's, for this one: others are not to wait behind it
            LOG.exception("Execution %s could not be submitted; it is looked for and tried again.", key)
            pause = pause_after(about.attempts, _FIRST, _LONGEST)
            problem = f"It could not be submitted: {type(error).__name__}: {error}"
            self._wait_for_its_job(about, self._clock(), problem, pause)
        else:
            self._has_job(execution, job_id)

    def _withdraw(self, execution: Execution) -> None:
        """It is to end, and what submits it may be under way still: it ends without a job once the scheduler rules one out."""
        key = execution.execution_id
        try:
            job_id = self.scheduler.withdraw(job_of(self._settings, execution.work))
        except Exception as error:  # this one waits; no other one waits behind it
            if not isinstance(error, SchedulerUnavailable):
                LOG.exception("Execution %s could not be withdrawn; that is tried again.", key)
            pause = pause_after(execution.attempts, _FIRST, _LONGEST)
            problem = f"It is to be canceled, and it is not known yet whether it was submitted: {error}"
            self._wait_for_its_job(execution, self._clock(), problem, pause)
            tell(execution, "%s", problem, level=logging.WARNING)
            return
        if job_id is not None:
            self._has_job(execution, job_id, adopted=True)
            return
        now = self._clock()
        self._store.change(key, lambda each: progress.given_up(each, progress.CANCELED, now), now)
        tell(execution, "was canceled before it was submitted.")

    def _has_job(self, execution: Execution, job_id: str, *, adopted: bool = False) -> None:
        now, reported = self._clock(), self.scheduler.job_ids_are_reported
        self._store.change(
            execution.execution_id,
            lambda each: progress.submitted(each, job_id, now, reported=reported, adopted=adopted), now,
        )  # fmt: skip
        tell(execution, "is job %s%s.", job_id, " (found by its key)" if adopted else "")

    def _wait_for_its_job(self, execution: Execution, now: float, problem: str, pause: float = 0.0) -> None:
        """It may have become a job: not before that would be seen is it looked for again, and submitted if there is none."""
        until = now + max(self.scheduler.settle_seconds, pause)
        self._store.change(
            execution.execution_id, lambda each: progress.postponed(each, Stage.SUBMITTING, until, problem), now
        )

    # Canceling

    def _cancel(self, jobs: Sequence[Execution]) -> None:
        """What does not hear is asked again later, and keeps nobody else waiting."""
        asked = [execution for execution in jobs if execution.cancel_at is not None and execution.job_id is not None]
        if not asked:
            self._troubles.pop(_CANCEL, None)
        due = [each for each in asked if time.monotonic() >= self._canceled.get(each.execution_id, float("-inf"))]
        statuses: dict[str, JobStatus] | None = None
        for execution in due:
            self._canceled[execution.execution_id] = time.monotonic() + _CANCEL_AGAIN
            try:
                if statuses is None:  # one question for all of them
                    statuses = self._statuses(due)
                if execution.execution_id not in statuses:
                    continue
                self.scheduler.cancel(execution.job_id or "")
            except SchedulerUnavailable as error:
                self._troubles[_CANCEL] = f"The scheduler does not cancel job {execution.job_id}: {error}"
                tell(execution, "could not be canceled now: %s", error, level=logging.WARNING)
                return
            self._troubles.pop(_CANCEL, None)
            self._look_at = 0.0
            tell(execution, "is being canceled: job %s.", execution.job_id)

    # Watching

    def _statuses(self, executions: Sequence[Execution]) -> dict[str, JobStatus]:
        """How their jobs stand, by execution, from one question. A scheduler that has lost what it knew gives numbers a second
        time: then that is another one's job.
        """
        told = self.scheduler.poll([each.job_id for each in executions if each.job_id is not None])
        found = ((each.execution_id, told.get(each.job_id or "")) for each in executions)
        return {key: status for key, status in found if status is not None and status.key == key}

    def _look(self, jobs: Sequence[Execution]) -> None:
        """One question for all of them."""
        statuses = self._statuses(jobs)
        missing = []
        for execution in jobs:
            status = statuses.get(execution.execution_id)
            if status is not None:
                self._saw(execution, status)
            else:
                missing.append(execution)
        if missing:
            self._miss(missing)

    def _saw(self, execution: Execution, status: JobStatus) -> None:
        now = self._clock()
        expected = progress.seen(execution, status, now)
        if expected is None or (expected.execution == execution and not expected.events):
            return
        after = self._store.change(execution.execution_id, lambda each: progress.seen(each, status, now), now)
        if after is None:
            return
        if after.stage is not execution.stage:
            self._canceled.pop(execution.execution_id, None)
            failure = f": {status.failure.code}, {status.failure.message}" if status.failure else "."
            tell(execution, "has job %s %s%s", after.job_id, status.phase, failure)
        if after.problem and after.problem != execution.problem:
            tell(execution, "needs somebody: %s", after.problem, level=logging.ERROR)

    def _miss(self, missing: Sequence[Execution]) -> None:
        """Unknown is not finished. Now and then they are looked for by key, as what remembers longer may know them."""
        found: dict[str, JobStatus] = {}
        if time.monotonic() >= self._searched + _SEARCH_AGAIN:
            found = self.scheduler.find([execution.execution_id for execution in missing])
            self._searched = time.monotonic()
        now, alert_after = self._clock(), self._settings.watch.alert_after_seconds
        for execution in missing:
            status = found.get(execution.execution_id)
            if status is not None and status.job_id == execution.job_id:
                self._saw(execution, status)
                continue
            after = self._store.change(
                execution.execution_id, lambda each: progress.absent(each, now, alert_after), now
            )
            if after is None:
                continue
            if execution.absent_at is None:
                tell(
                    execution,
                    "has job %s, which the scheduler does not know (any more).",
                    execution.job_id,
                    level=logging.WARNING,
                )
            if after.problem and not execution.problem:
                tell(execution, "needs somebody: %s", after.problem, level=logging.ERROR)

    # Bringing

    def _bring(self, now: float) -> float:
        for execution in self._store.due(Stage.BRINGING, now):
            self._bring_one(execution)
        at = self._store.next_due(Stage.BRINGING)
        return _IDLE if at is None else max(at - now, 0.01)

    def _bring_one(self, execution: Execution) -> None:
        now = self._clock()
        try:
            self.scheduler.collect(execution.job_id or "", folder_of(self._settings, execution.execution_id))
        except Exception as error:  # what one job left keeps nothing else waiting
            problem = f"What its job left cannot be brought into its folder: {error}"
            until = now + pause_after(execution.attempts, _FIRST, _LONGEST)
            self._store.change(
                execution.execution_id, lambda each: progress.postponed(each, Stage.BRINGING, until, problem), now
            )
            tell(execution, "%s", problem, level=logging.WARNING)
        else:
            self._store.change(execution.execution_id, lambda each: progress.brought(each, now), now)
