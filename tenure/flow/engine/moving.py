"""Runs under lock, while decisions are made on them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from tenure.engine.caller import Caller
from tenure.flow.engine.waking import next_wake
from tenure.flow.journal import Append, Entry, Journal, JournalCorrupt, Position
from tenure.flow.model.commands import Command, EndRun
from tenure.flow.model.decisions.unfolding import Context, Decision, Refusal
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.fold import fold
from tenure.flow.model.state import FORMAT, RunState, from_checkpoint
from tenure.flow.rows import RunnableRow, RunRow
from tenure.model import euid
from tenure.model.fact import Fact
from tenure.store.operation import Op
from tenure.store.tracing import trace_reference

if TYPE_CHECKING:
    from tenure.flow.engine.flow import Flow

_log = logging.getLogger("tenure.flow")


@dataclass(frozen=True, slots=True)
class Verb:
    """One decision to be made on a run, and the fact that answered its idempotency key before."""

    decide: Callable[[RunState, WorkflowDefinition, Context], Decision]
    replay: Fact | None = None


class UidsNeeded(Exception):
    """The pool of fresh uids is empty: draw some, and decide again."""


@dataclass(slots=True)
class Pool(Iterator[int]):
    """Fresh uids for decisions, which cannot draw any themselves."""

    uids: list[int] = field(default_factory=list)
    taken: int = 0

    def __next__(self) -> int:
        if self.taken == len(self.uids):
            raise UidsNeeded
        self.taken += 1
        return self.uids[self.taken - 1]


@dataclass(slots=True)
class Moving:
    """One run: its row, its definition, the fold of its facts, and what decisions have added to all that."""

    row: RunRow
    definition: WorkflowDefinition
    state: RunState
    end: Position
    covered: int = 0
    """The revision of its checkpoint."""
    depth: int = 0
    """How many runs above it were started in the same transaction."""
    entries: list[Entry] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    runnables: list[RunnableRow] = field(default_factory=list)
    links: list[tuple[int, int, str]] = field(default_factory=list)
    payloads: dict[int, Any] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)
    replayed: Fact | None = None
    adopted: Mapping[str, int] = field(default_factory=dict)
    """Subjects that are there already, by the keys of the runnables that they are to stand for."""
    submitted: int = 0
    """How many subjects were submitted for it."""

    @property
    def uid(self) -> int:
        """The uid of the run."""
        return self.row.uid

    def take(self, decision: Decision, now: datetime, actor: str) -> None:
        """Add what a decision gave."""
        trace = trace_reference()
        self.entries += [
            Entry(
                draft.type, draft.data or None, now, actor, draft.idempotency_key, draft.payload_hash,
                correlation_id=self.row.correlation_id, trace_id=trace,
            )
            for draft in decision.facts
        ]  # fmt: skip
        self.state = decision.state
        self.commands += decision.commands
        self.refusals += decision.refusals
        self.replayed = decision.replayed
        self._stand(decision, now)

    def _stand(self, decision: Decision, now: datetime) -> None:
        manual, end = self.state.manual, self.state.end
        self.row = replace(
            self.row, status=str(self.state.status), wake_at=next_wake(self.state, now),
            boundary=manual.model_dump(mode="json", exclude_none=True) if manual is not None else None,
            ended_at=end.at if end is not None else None,
        )  # fmt: skip
        for command in decision.commands:
            if isinstance(command, EndRun):
                self.row = replace(self.row, output=command.output)

    def migrated(self, workflow: int, definition: WorkflowDefinition) -> None:
        """The run goes by another version from here."""
        self.row, self.definition = replace(self.row, workflow=workflow), definition

    def append(self) -> Append:
        """What is to be appended."""
        return Append(
            self.uid, self.row.tenant, tuple(self.entries), self.end.rev, self.end.head, self.row,
            tuple(self.runnables), tuple(self.links), dict(self.payloads),
        )  # fmt: skip

    def written(self, end: Position) -> None:
        """What was added is kept now."""
        self.end = end
        self.row = replace(self.row, seq=end.rev, head=end.head)
        self.entries, self.runnables, self.links, self.payloads = [], [], [], {}


def open_runs(flow: Flow, caller: Caller, uids: Iterable[int]) -> Op[dict[int, Moving]]:
    """Lock runs and fold them. One whose journal is corrupt is left out: it cannot go on, and must not stop the others."""
    wanted = sorted(set(uids))
    locked = (yield from flow.storage.lock_runs(caller.tenant, wanted)) if wanted else []
    return (yield from fold_runs(flow, caller, locked)) if locked else {}


def fold_runs(flow: Flow, caller: Caller, uids: Iterable[int]) -> Op[dict[int, Moving]]:
    """The same without a lock, for reading."""
    rows = yield from flow.storage.runs(caller.tenant, sorted(set(uids)))
    journals = yield from flow.storage.journal.load_many(sorted(rows), FORMAT)
    definitions = yield from flow.definitions(caller.tenant, {row.workflow for row in rows.values()})
    found = {}
    for uid, row in rows.items():
        journal = journals.get(uid)
        if isinstance(journal, JournalCorrupt) or journal is None:
            _log.error("run %s cannot go on: %s", euid.format_euid(euid.RUN, uid), journal or "its facts are gone")
            continue
        state, covered = yield from fold_journal(flow, journal)
        found[uid] = Moving(row, definitions[row.workflow], state, journal.end, covered)
    return found


def fold_journal(flow: Flow, journal: Journal) -> Op[tuple[RunState, int]]:
    """The state of a run, and the revision of the checkpoint behind it (0: none was of use)."""
    if journal.checkpoint is None:
        return fold(journal.entries, journal.thread), 0
    state = from_checkpoint(journal.checkpoint.state)
    if state is None or state.run != journal.thread or state.seq != journal.checkpoint.rev:
        # A checkpoint is for speed only: what it says wrongly, or in another form, is folded anew.
        facts = yield from flow.storage.journal.load(journal.thread)
        return fold(facts, journal.thread), 0
    return fold(journal.entries, journal.thread, state), journal.checkpoint.rev
