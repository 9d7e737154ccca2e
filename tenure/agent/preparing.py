"""Makes an execution ready for the scheduler: its folder, its input, its script."""

from __future__ import annotations

import time
from collections.abc import Callable

from tenure.agent import progress
from tenure.agent.backoff import pause_after
from tenure.agent.execution import Execution, Stage
from tenure.agent.payload.inputs import InputRefused, InputUnavailable, Interrupted, fetch
from tenure.agent.script import INPUT, folder_of, too_much, write_script
from tenure.agent.sentences import failure_with
from tenure.agent.settings import AgentSettings, RunnerSettings
from tenure.agent.standing import DISK, Standing
from tenure.agent.store.store import Store
from tenure.agent.telling import tell
from tenure.agent.uris import shown
from tenure.remote.model.fields import Failure

_FIRST, _LONGEST = 1.0, 60.0
_LEAST_SECONDS = 10.0
_LOOK_SECONDS = 0.5


def fetched_until(execution: Execution, settings: RunnerSettings, now: float) -> float:
    """When a try that begins now has taken too long. The first one has all of the time, since it may have waited for its
    turn behind others; a later one has what is left, and a moment in any case: the agent may have been away.
    """
    if execution.attempts == 0:
        return now + settings.fetch_seconds
    return max(execution.received_at + settings.fetch_seconds, now + min(settings.fetch_seconds, _LEAST_SECONDS))


class Preparing:
    """The work of a workshop. A step that is interrupted is done again from its beginning."""

    def __init__(
        self, store: Store, settings: AgentSettings, standing: Standing, clock: Callable[[], float],
        stopping: Callable[[], bool],
    ) -> None:  # fmt: skip
        self._store, self._settings, self._standing = store, settings, standing
        self._clock, self._stopping = clock, stopping

    def __call__(self, execution: Execution) -> None:
        """Prepare it, postpone it, or let it fail."""
        work = execution.work
        failure = too_much(self._settings.limits, work) or self._unknown_bucket(work.payload_ref.artifact_bucket)
        if failure is not None:
            self._give_up(execution, failure)
            return
        folder = folder_of(self._settings, work.execution_id)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o750)
            if not (folder / INPUT).exists():
                fetch(work.payload_ref.input_uri, folder / INPUT, self._settings.runner, self._heed(execution))
            write_script(self._settings, work)
        except Interrupted:
            return
        except InputRefused as refused:
            self._give_up(execution, refused.failure)
        except InputUnavailable as error:
            now = self._clock()
            if now - execution.received_at >= self._settings.runner.fetch_seconds:
                said = f"Its input could not be had for {self._settings.runner.fetch_seconds:,.0f} s. {error}"
                self._give_up(execution, failure_with(code="input_unavailable", message=said, retryable=True))
            else:
                self._postpone(execution, str(error))
        except OSError as error:
            # The same for all that cannot be prepared: the node has one problem, and tells it once.
            where = self._settings.work_folder
            said = f"In {where} nothing can be written: {error.strerror or error}. Nothing new is taken until it can."
            self._standing.troubled(DISK, said)
            self._postpone(execution, said)
        else:
            self._standing.fine(DISK)
            now = self._clock()
            self._store.change(work.execution_id, lambda each: progress.prepared(each, now), now)

    def _heed(self, execution: Execution) -> Callable[[], None]:
        """What breaks a fetch off: its time is up, the agent stops, or the execution has ended (somebody canceled it)."""
        until, looked = fetched_until(execution, self._settings.runner, self._clock()), time.monotonic()

        def heed() -> None:
            nonlocal looked
            if self._stopping():
                raise Interrupted
            if self._clock() >= until:
                raise InputUnavailable("It was still coming.")
            if time.monotonic() - looked >= _LOOK_SECONDS:  # many small pieces are not as many questions
                looked = time.monotonic()
                now = self._store.execution(execution.execution_id)
                if now is None or now.stage is not Stage.RECEIVED:
                    raise Interrupted

        return heed

    def _unknown_bucket(self, bucket: str | None) -> Failure | None:
        if bucket is None or bucket in self._settings.results.buckets:
            return None
        said = f"This node knows no bucket {shown(bucket)}: see [results.buckets] in its settings."
        return failure_with(code="bucket_unknown", message=said, retryable=False)

    def _give_up(self, execution: Execution, failure: Failure) -> None:
        now = self._clock()
        self._store.change(execution.execution_id, lambda each: progress.given_up(each, failure, now), now)
        tell(execution, "was not submitted (%s): %s", failure.code, failure.message)

    def _postpone(self, execution: Execution, problem: str) -> None:
        now = self._clock()
        until = now + pause_after(execution.attempts, _FIRST, _LONGEST)
        self._store.change(
            execution.execution_id, lambda each: progress.postponed(each, Stage.RECEIVED, until, problem), now
        )
        tell(execution, "waits: %s", problem)
