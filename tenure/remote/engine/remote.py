"""The follower of the kernel's actions: whoever changes a submission's subject, its projection follows (decision 13)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from tenure.engine.caller import Caller
from tenure.model.decisions.unfolding import Unfolding
from tenure.model.errors import InvalidRequest
from tenure.model.thread import SubjectThread
from tenure.model.visibility import Reason
from tenure.model.worker import Worker
from tenure.remote.engine.explaining import why_of_submission
from tenure.remote.engine.telling import Telling
from tenure.remote.model.names import TEMPLATE
from tenure.remote.port import RemoteStorage
from tenure.store.operation import Op


class Remote:
    """One for a store; among the followers of its callers."""

    def __init__(self, storage: RemoteStorage) -> None:
        self.storage = storage

    def __call__(self, caller: Caller, unfoldings: Sequence[Unfolding]) -> Op[None]:
        """See ``tenure.engine.caller.Follower``."""
        chosen = {u.envelope.uid: u for u in unfoldings if u.envelope.template == TEMPLATE}
        if chosen:
            yield from self._follow(caller, chosen)

    def why(self, caller: Caller, thread: SubjectThread, workers: Sequence[Worker], now: datetime) -> Op[list[Reason]]:
        """See ``tenure.engine.caller.Explaining``."""
        if thread.envelope.template != TEMPLATE:
            return []
        return (yield from why_of_submission(self.storage, caller, thread, now))

    def _follow(self, caller: Caller, chosen: Mapping[int, Unfolding]) -> Op[None]:
        rows = yield from self.storage.submissions_of(caller.tenant, sorted(chosen))
        if not rows:
            return
        executions = yield from self.storage.executions([row.uid for row in rows.values()])
        telling = Telling(caller, (yield from caller.store.clock()))
        for subject, row in sorted(rows.items()):
            unfolding = chosen[subject]
            row = telling.project(row, unfolding.facts, unfolding.details)  # noqa: PLW2901 - the row moves on
            telling.let_go(row, executions.get(row.uid, ()), unfolding)
        if not telling.writing.empty:
            yield from self.storage.write(telling.writing)


def remote_of(caller: Caller) -> Remote:
    """The one that follows what the caller does; ``InvalidRequest`` where none does."""
    for follower in caller.followers:
        if isinstance(follower, Remote):
            return follower
    raise InvalidRequest("This caller has no remote submissions.", "Give it a Remote among its followers.")
