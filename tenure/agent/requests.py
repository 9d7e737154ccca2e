"""What people ask of an agent by commands: written into its file, seen to by the agent within a second."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable
from pathlib import Path

from tenure.agent import progress
from tenure.agent.errors import NoAgentHere
from tenure.agent.sentences import failure_with
from tenure.agent.standing import DRAINING, Standing
from tenure.agent.store.opening import FILE
from tenure.agent.store.rows import Request
from tenure.agent.store.store import Store
from tenure.agent.telling import LOG, tell

DRAIN, RESEND, CONCLUDE = "drain", "resend", "conclude"


def ask(folder: Path, kind: str, value: str = "") -> None:
    """Leave a request in a state folder. Raises NoAgentHere where no agent has ever worked."""
    if not (folder / FILE).exists():
        raise NoAgentHere(
            f"No agent has worked in {folder}.", "Name its node or its state folder: --node, --state-folder, --config."
        )
    store = Store(folder)
    try:
        store.ask(kind, value, time.time())
    finally:
        store.close()


class Requests:
    """Sees to what was asked."""

    def __init__(self, store: Store, standing: Standing, clock: Callable[[], float]) -> None:
        self._store, self._standing, self._clock = store, standing, clock
        standing.drain(DRAINING in store.conditions())

    def see_to(self) -> None:
        """Do what has been asked since the last time."""
        for request in self._store.requests():
            self._see_to(request)
            self._store.answered(request)

    def _see_to(self, request: Request) -> None:
        if request.kind == DRAIN:
            wanted = request.value != "off"
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
            tell(after, "is not waiting for its job's end: nothing was concluded.", level=logging.WARNING)
        else:
            tell(after, "is over, somebody says: %s", failure.message)
