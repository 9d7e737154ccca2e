"""The follower of the kernel's actions, and where operations on runs find their storage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from tenure.engine.caller import Caller
from tenure.flow.engine.following import blocked, follow
from tenure.flow.engine.handing_over import hand_over
from tenure.flow.engine.remembering import Remembered
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.port import FlowStorage
from tenure.model.decisions.unfolding import Unfolding
from tenure.model.errors import InvalidRequest
from tenure.model.result import ActionResult
from tenure.model.thread import SubjectThread
from tenure.model.visibility import Reason
from tenure.model.worker import Worker
from tenure.store.operation import Op
from tenure.store.records import Finish


class Flow:
    """One for a store. As a follower it applies the end of a runnable's subject to its run (decision 10)."""

    def __init__(self, storage: FlowStorage) -> None:
        self.storage = storage
        self._definitions: dict[int, WorkflowDefinition] = {}
        self.remembered = Remembered()

    def __call__(self, caller: Caller, unfoldings: Sequence[Unfolding]) -> Op[None]:
        """See ``tenure.engine.caller.Follower``."""
        if any(unfolding.thread.in_run for unfolding in unfoldings):
            yield from follow(self, caller, unfoldings)

    def blocked(self, caller: Caller, unfoldings: Sequence[Unfolding]) -> Op[set[int]]:
        """See ``tenure.engine.caller.Yielding``."""
        return blocked(self, caller, unfoldings)

    def finish(self, caller: Caller, worker: int, finishes: Sequence[Finish]) -> Op[Mapping[int, ActionResult]]:
        """See ``tenure.engine.caller.Finisher``: plain ends of steps."""
        if self.storage.short_cut is None:
            return {}
        return (yield from hand_over(self, self.storage.short_cut, caller.without_followers(), worker, finishes))

    def why(self, caller: Caller, thread: SubjectThread, workers: Sequence[Worker], now: datetime) -> Op[list[Reason]]:
        """See ``tenure.engine.caller.Explaining``."""
        if not thread.in_run:
            return []
        from tenure.flow.engine.reading import why_of_subject  # noqa: PLC0415 - it reads by flows itself

        return (yield from why_of_subject(caller, thread, workers, now))

    def definitions(self, tenant: int, uids: Iterable[int]) -> Op[dict[int, WorkflowDefinition]]:
        """Definitions by uid. They are immutable, so what was read once is not read again."""
        wanted = set(uids)
        if missing := wanted - self._definitions.keys():
            for row in (yield from self.storage.workflows(tenant, sorted(missing))):
                self._definitions[row.uid] = WorkflowDefinition.model_validate(dict(row.definition))
        return {uid: self._definitions[uid] for uid in wanted if uid in self._definitions}


def flow_of(caller: Caller) -> Flow:
    """The flow that follows what the caller does; ``InvalidRequest`` where none does."""
    for follower in caller.followers:
        if isinstance(follower, Flow):
            return follower
    raise InvalidRequest("This caller has no workflows.", "Give it a Flow among its followers.")
