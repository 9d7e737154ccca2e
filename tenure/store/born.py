"""The answers to a batch of submissions that are all new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import overload

from tenure.model.fact_types import REGISTRY, SUBMITTED
from tenure.model.result import ActionResult
from tenure.model.states import State
from tenure.store.records import Submission

_ACTION = REGISTRY[SUBMITTED].action


@dataclass(frozen=True, slots=True)
class Born(Sequence[ActionResult]):
    """One result for each submission, in their order; each is made when it is looked at, since mostly nobody looks."""

    items: Sequence[Submission]
    uids: Sequence[int]
    state: State
    at: datetime

    @overload
    def __getitem__(self, index: int) -> ActionResult: ...
    @overload
    def __getitem__(self, index: slice) -> list[ActionResult]: ...
    def __getitem__(self, index: int | slice) -> ActionResult | list[ActionResult]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        return born(self.items[index], self.uids[index], self.state, self.at)

    def __len__(self) -> int:
        return len(self.uids)


def born(item: Submission, uid: int, state: State, at: datetime) -> ActionResult:
    """The answer to one submission that is new."""
    data = dict(item.born_with) if item.born_with else {}
    return ActionResult(_ACTION, SUBMITTED, uid, state, 1, 1, at, item.request.queue_key, None, None, data)
