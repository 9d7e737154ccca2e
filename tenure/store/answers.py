"""Answers to thousands of requests at once: each is made when it is looked at, since mostly nobody looks."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import accumulate, chain
from typing import TypeVar, overload

from tenure.model.fact_types import REGISTRY, SUBMITTED
from tenure.model.result import ActionResult
from tenure.model.states import State
from tenure.store.records import Submission, Submitted

T = TypeVar("T")
_ACTION = REGISTRY[SUBMITTED].action


class Answers(Sequence[T]):
    """Read like a list, and equal to one that holds the same."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def one(self, place: int) -> T:
        """The answer at ``place``, from 0 to the length less one."""
        raise NotImplementedError

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self.one(place) for place in range(*index.indices(len(self)))]
        return self.one(range(len(self))[index])

    def __iter__(self) -> Iterator[T]:
        return map(self.one, range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | Answers):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __repr__(self) -> str:
        return repr(list(self))


class Born(Answers[Submitted]):
    """One result for each of a batch of submissions that are all new, in their order."""

    __slots__ = ("_at", "_items", "_state", "_uids")

    def __init__(self, items: Sequence[Submission], uids: Sequence[int], state: State, at: datetime) -> None:
        self._items, self._uids, self._state, self._at = items, uids, state, at

    def one(self, place: int) -> ActionResult:
        """The result of one submission."""
        return born(self._items[place], self._uids[place], self._state, self._at)

    def __len__(self) -> int:
        return len(self._uids)


class Joined(Answers[T]):
    """The answers to the parts of a set, one after the other, without taking the parts apart."""

    __slots__ = ("_ends", "_parts")

    def __init__(self, parts: Sequence[Sequence[T]]) -> None:
        self._parts = parts
        self._ends = list(accumulate(map(len, parts)))

    def one(self, place: int) -> T:
        """The answer at ``place`` of the whole."""
        part = bisect_right(self._ends, place)
        return self._parts[part][place - self._ends[part]]

    def __iter__(self) -> Iterator[T]:
        return chain.from_iterable(self._parts)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0


def born(item: Submission, uid: int, state: State, at: datetime) -> ActionResult:
    """The answer to one submission that is new."""
    data = dict(item.born_with) if item.born_with else {}
    return ActionResult(_ACTION, SUBMITTED, uid, state, 1, 1, at, item.request.queue_key, None, None, data)
