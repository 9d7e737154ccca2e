"""What people ask of an agent by commands: written into its file, seen to by the agent within a second."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from tenure.agent import progress
from tenure.agent.errors import ExecutionNotHere, ExecutionOver, NoAgentHere, StateFolderUnusable
from tenure.agent.execution import Stage
from tenure.agent.sentences import failure_with
from tenure.agent.standing import DRAINING, Standing
from tenure.agent.store.opening import FILE
from tenure.agent.store.rows import Request
from tenure.agent.store.store import Store
from tenure.agent.telling import LOG, tell
from tenure.model.errors import InvalidRequest
from tenure.remote.model.fields import Failure

DRAIN, RESEND, CONCLUDE = "drain", "resend", "conclude"
DRAIN_TOLD = "drain_told"
"""The condition that says when a poll was sent that told of draining, and was answered."""


def ask(folder: Path, kind: str, value: str = "") -> None:
    """Leave a request in a state folder. Raises NoAgentHere where no agent has ever worked."""
    with _store_of(folder) as store:
        store.ask(kind, value, time.time())


def ask_to_conclude(folder: Path, execution_id: str, reason: str, *, retryable: bool) -> None:
    """Leave word that an execution is over. Raises InvalidRequest, NoAgentHere, ExecutionNotHere, ExecutionOver."""
    if not reason.strip():
        raise InvalidRequest("The reason is empty.", "Say how it ended, and how you know: it goes into the record.")
    try:
        Failure(code="concluded", message=reason, retryable=retryable)
    except ValidationError as error:
        raise InvalidRequest(
            f"The reason cannot be kept: {error.errors()[0]['msg']}. It has {len(reason):,} characters.",
            "Say it in 2,000 characters of text at most, and where more can be read.",
        ) from None
    with _store_of(folder) as store:
        execution = store.execution(execution_id)
        if execution is None:
            raise ExecutionNotHere(
                f"The agent of {folder} knows no execution {execution_id}.",
                "Give the whole id, as `tenure agent status` and `tenure submission show` have it, on the node that has it.",
            )
        if execution.stage is Stage.ENDED:
            raise ExecutionOver(
                f"Execution {execution_id} is over already: there is nothing to conclude.",
                "See `tenure submission show` for how it ended, and `tenure agent status` for events that wait.",
            )
        said = {"execution_id": execution_id, "reason": reason, "retryable": "yes" if retryable else ""}
        store.ask(CONCLUDE, json.dumps(said), time.time())


@contextmanager
def _store_of(folder: Path) -> Iterator[Store]:
    if not (folder / FILE).exists():
        raise NoAgentHere(
            f"No agent has worked in {folder}.", "Name its node or its state folder: --node, --state-folder, --config."
        )
    store = Store(folder)
    try:
        yield store
    finally:
        store.close()


class Requests:
    """Sees to what was asked."""

    def __init__(self, store: Store, standing: Standing, clock: Callable[[], float]) -> None:
        self._store, self._standing, self._clock = store, standing, clock
        standing.drain(DRAINING in store.conditions())

    def see_to(self) -> None:
        """Do what has been asked since the last time. What cannot be done is dropped: it would keep the rest waiting for ever."""
        for request in self._store.requests():
            try:
                self._see_to(request)
            except StateFolderUnusable:
                raise
            except Exception:
                LOG.exception("What was asked (%s) cannot be done and is dropped: %.200s", request.kind, request.value)
            self._store.answered(request)

    def _see_to(self, request: Request) -> None:
        if request.kind == DRAIN:
            wanted = request.value != "off"
            if wanted != self._standing.draining:  # since when it drains is told apart from what was said before
                self._store.set_condition(DRAINING, "yes" if wanted else None, self._clock())
            self._standing.drain(wanted)
        elif request.kind == RESEND:
            LOG.info("%d events that had been parked are sent again.", self._store.unpark())
        elif request.kind == CONCLUDE:
            self._conclude(json.loads(request.value))
        else:
            LOG.warning("What was asked is of no use to this version: %s.", request.kind)

    def _conclude(self, said: dict[str, str]) -> None:
        now = self._clock()
        failure = failure_with(code="concluded", message=said["reason"], retryable=bool(said.get("retryable")))
        before = self._store.execution(said["execution_id"])
        after = self._store.change(said["execution_id"], lambda each: progress.concluded(each, failure, now), now)
        if after is None or before is None:
            LOG.warning("Execution %s, which somebody says is over, is not known here.", said["execution_id"])
        elif after.stage is before.stage:
            tell(after, "has ended already: nothing was concluded.", level=logging.WARNING)
        else:
            tell(after, "is over, somebody says: %s", failure.message)
