"""The outcomes of a set that was worked on in parts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import overload

from tenure.engine.acting import Outcome


class Joined(Sequence[Outcome]):
    """Parts one after the other, without taking them apart: a part may make its outcomes only when they are looked at."""

    def __init__(self, parts: Sequence[Sequence[Outcome]]) -> None:
        self._parts = parts
        self._ends = list(accumulate(map(len, parts)))

    @overload
    def __getitem__(self, index: int) -> Outcome: ...
    @overload
    def __getitem__(self, index: slice) -> list[Outcome]: ...
    def __getitem__(self, index: int | slice) -> Outcome | list[Outcome]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        part = bisect_right(self._ends, place)
        return self._parts[part][place - self._ends[part]]

    def __iter__(self) -> Iterator[Outcome]:
        return chain.from_iterable(self._parts)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0
