"""The short cut for plain ends of steps: look, decide, hand over, in two statements (decision 0014).

It is for storages that have statements made for it; whatever it leaves takes the common way, through the follower.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from tenure.flow.journal import Append, Journal, JournalCorrupt, Position
from tenure.flow.rows import RunnableRow, RunRow
from tenure.model.fact import Fact
from tenure.model.result import ActionResult
from tenure.store.operation import Op
from tenure.store.records import Finish, Submission


class StepEnd(NamedTuple):
    """A step whose attempt is to be completed, as it was looked at: ``seq`` is that of its thread."""

    lease: int
    subject: int
    seq: int
    runnable_key: str


@dataclass(frozen=True, slots=True)
class Look:
    """A run, which of the attempts are steps of it, the moment, and a fresh uid for each of them.

    The journal is that behind the checkpoint or, where ``known`` is true, behind the position that the caller knew.
    """

    run: RunRow
    journal: Journal | JournalCorrupt
    ends: Sequence[StepEnd]
    now: datetime
    uids: Sequence[int]
    known: bool = False


class Edge(NamedTuple):
    """An edge to a subject that is planned: from a subject, or from what stands for a runnable of the same run."""

    parent: int | str
    child: int
    relation: str


@dataclass(frozen=True, slots=True)
class HandOver:
    """What is to be done for one run, or not at all: ends of steps, the facts, and the subjects of what they plan."""

    append: Append
    facts: Sequence[Fact]
    """The entries of ``append``, sealed."""
    ends: Sequence[tuple[StepEnd, Finish]]
    planned: Sequence[tuple[RunnableRow, Submission]]
    edges: Sequence[Edge]

    @property
    def end(self) -> Position:
        """Where the thread of the run ends then."""
        return Position(self.facts[-1].seq, self.facts[-1].hash)


class ShortCut(Protocol):
    """Statements that do for many runs what is plain, each a transaction of its own."""

    def look(
        self, tenant: int, worker: int, finishes: Sequence[Finish], format: int, known: Mapping[int, Position]  # noqa: A002
    ) -> Op[list[Look]]:  # fmt: skip
        """The runs that go on, with what of ``finishes`` is a plain end of a step of theirs. Nothing is locked.

        ``known`` is where the caller's folds of some of these runs end: of those only what was told since is read.
        """
        ...

    def hand_over(
        self, tenant: int, worker: int, actor: str, now: datetime, hand_overs: Sequence[HandOver]
    ) -> Op[Mapping[int, ActionResult]]:
        """Do it for each run that still is as it was looked at; what was completed, by lease."""
        ...

    def moment(self, count: int) -> Op[tuple[datetime, list[int]]]:
        """The moment, and so many fresh uids."""
        ...

    def begin(self, tenant: int, actor: str, now: datetime, hand_overs: Sequence[HandOver]) -> Op[set[int]]:
        """Begin runs that have neither key nor root; those that were begun."""
        ...
