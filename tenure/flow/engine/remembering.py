"""Folds of runs that this process moved on, by the subjects that they wait for: speed only (decision 0014).

A run is not read again by who wrote its last facts: only what was told since is read, proved from where the fold ends, and
folded on. What is remembered is never trusted further than that: the revision and its hash are the journal's.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from tenure.flow.journal import Position
from tenure.flow.model.state import RunState

#: So many subjects at most; the oldest are forgotten first.
MOST = 4096


class Folded(NamedTuple):
    """A run as it stood at ``end``; ``covered`` is the revision of its checkpoint."""

    run: int
    end: Position
    state: RunState
    covered: int


class Remembered:
    """What is remembered, each to be taken once."""

    def __init__(self) -> None:
        self._by_subject: OrderedDict[int, Folded] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_subject)

    def keep(self, subjects: Iterable[int], folded: Folded) -> None:
        """Remember a run for when these subjects end."""
        for subject in subjects:
            self._by_subject[subject] = folded
        while len(self._by_subject) > MOST:
            self._by_subject.popitem(last=False)

    def take(self, subjects: Iterable[int | None]) -> dict[int, Folded]:
        """What is remembered of the runs that these subjects belong to, by run: the furthest, where there are several."""
        found: dict[int, Folded] = {}
        for subject in subjects:
            folded = self._by_subject.pop(subject, None) if subject is not None else None
            if folded is not None and (folded.run not in found or found[folded.run].end.rev < folded.end.rev):
                found[folded.run] = folded
        return found
