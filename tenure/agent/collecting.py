"""Puts what a job left into the payload store, and then says how it ended."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from tenure.agent import progress
from tenure.agent.backoff import pause_after
from tenure.agent.execution import Change, Execution, JobOutcome, Stage
from tenure.agent.payload.inputs import Interrupted
from tenure.agent.payload.results import TooMuch, put_results
from tenure.agent.payload.stores import store_of
from tenure.agent.script import folder_of
from tenure.agent.sentences import failure_with, reason_of
from tenure.agent.settings import AgentSettings
from tenure.agent.store.store import Store
from tenure.agent.telling import tell
from tenure.agent.uris import shown, without_secrets
from tenure.model.errors import TenureError
from tenure.remote.model.fields import Failure

_FIRST, _LONGEST = 1.0, 300.0
#: The output of a failed job is worth this many tries; the result of one that completed as many as it takes.
_TRIES_FOR_A_FAILURE = 3


class Collecting:
    """The work of a workshop. A step that is interrupted is done again from its beginning."""

    def __init__(
        self, store: Store, settings: AgentSettings, clock: Callable[[], float], stopping: Callable[[], bool]
    ) -> None:
        self._store, self._settings, self._clock, self._stopping = store, settings, clock, stopping

    def __call__(self, execution: Execution) -> None:
        """Collect it, or postpone that: a result is not lost because nobody takes it now."""
        settings = self._settings.results
        bucket = execution.work.payload_ref.artifact_bucket
        where = settings.buckets.get(bucket, self._settings.result_store) if bucket else self._settings.result_store
        folder = folder_of(self._settings, execution.execution_id)
        try:
            result = put_results(execution, folder, store_of(where), max_mib=settings.max_mib, stopping=self._stopping)
        except Interrupted:
            return
        except TooMuch as error:
            failure = failure_with(code="results_too_large", message=str(error), retryable=False)
            self._change(execution, lambda each, now: progress.collected(_failed(each, failure), None, now))
            tell(execution, "%s", error, level=logging.WARNING)
        except Exception as error:  # whatever a payload store raises
            plain = isinstance(error, TenureError | OSError)
            said = without_secrets(str(error), where) if plain else reason_of(error, where)
            self._later(
                execution, f"What its job left cannot be put into {shown(where)}: {said}. It is kept in {folder}."
            )
        else:
            self._change(execution, lambda each, now: progress.collected(each, result, now))
            tell(execution, "left its results in %s", result.output_uri)

    def _later(self, execution: Execution, problem: str) -> None:
        tell(execution, "%s", problem, level=logging.WARNING)
        failed = execution.outcome is not None and execution.outcome.failure is not None
        if failed and execution.attempts + 1 >= _TRIES_FOR_A_FAILURE:
            self._change(execution, lambda each, now: progress.collected(each, None, now, problem))
            return
        pause = pause_after(execution.attempts, _FIRST, _LONGEST)
        self._change(execution, lambda each, now: progress.postponed(each, Stage.COLLECTING, now + pause, problem))

    def _change(self, execution: Execution, decide: Callable[[Execution, float], Change | None]) -> None:
        now = self._clock()
        self._store.change(execution.execution_id, lambda each: decide(each, now), now)


def _failed(execution: Execution, failure: Failure) -> Execution:
    outcome = execution.outcome or JobOutcome()
    return execution if outcome.failure else replace(execution, outcome=outcome.model_copy(update={"failure": failure}))
