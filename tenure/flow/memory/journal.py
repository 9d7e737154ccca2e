"""The journal in memory, over the data of a memory store or over data of its own."""

from __future__ import annotations

from collections.abc import Sequence

from tenure.flow.journal import (
    Append,
    Checkpoint,
    Entry,
    Journal,
    JournalCorrupt,
    JournalUnknown,
    Position,
    proved,
    sealed,
    stale,
)
from tenure.flow.memory.tables import FlowTables
from tenure.flow.rows import RunRow
from tenure.model.fact import Fact
from tenure.store.memory.room import Room, operation
from tenure.store.operation import Op


class MemoryJournal(Room):
    """Implements ``tenure.flow.journal.JournalStorage`` over dicts; drive it with ``run_pure``."""

    def __init__(self, tables: FlowTables) -> None:
        super().__init__(tables.data)
        self._tables = tables

    def append(
        self, thread: int, entries: Sequence[Entry], expected_rev: int, *, tenant: int = 0, row: RunRow | None = None
    ) -> Op[int]:
        """See ``JournalStorage.append``."""
        ends = yield from self.append_many([Append(thread, tenant, entries, expected_rev, row=row)])
        return ends[0].rev

    @operation
    def append_many(self, appends: Sequence[Append]) -> list[Position]:
        """See ``JournalStorage.append_many``."""
        return [self._append(append) for append in appends]

    @operation
    def load(self, thread: int, after_rev: int = 0, limit: int | None = None) -> list[Fact]:
        """See ``JournalStorage.load``."""
        facts = list(self._facts(thread))
        end = self._end(thread)
        tail = [fact for fact in facts if fact.seq > after_rev]
        chosen = tail if limit is None else tail[:limit]
        before = next((fact.hash for fact in facts if fact.seq == after_rev), b"")
        whole = len(chosen) == len(tail) and after_rev < end.rev
        proved(thread, chosen, Position(after_rev, before), end if whole else None)
        return chosen

    @operation
    def load_many(self, threads: Sequence[int], format: int) -> dict[int, Journal | JournalCorrupt]:  # noqa: A002
        """See ``JournalStorage.load_many``."""
        return {thread: self._journal(thread, format) for thread in sorted(threads) if self._end(thread).rev}

    @operation
    def put_checkpoints(self, checkpoints: Sequence[Checkpoint]) -> None:
        """See ``JournalStorage.put_checkpoints``."""
        for checkpoint in checkpoints:
            self._tables.checkpoints.put(checkpoint.thread, checkpoint)

    @operation
    def threads(self, after: int, limit: int) -> list[int]:
        """See ``JournalStorage.threads``."""
        return sorted(uid for uid in self._tables.began if uid > after)[:limit]

    @operation
    def checkpoint(self, thread: int) -> Checkpoint | None:
        """See ``JournalStorage.checkpoint``."""
        return self._tables.checkpoints.get(thread)

    def _end(self, thread: int) -> Position:
        return Position(*self._data.heads.get(thread, (0, b"")))

    def _facts(self, thread: int) -> Sequence[Fact]:
        if not self._end(thread).rev:
            raise JournalUnknown("There is no such thread.", "Check its uid.")
        return self._data.facts[thread]

    def _journal(self, thread: int, format_: int) -> Journal | JournalCorrupt:
        end, checkpoint = self._end(thread), self._tables.checkpoints.get(thread)
        if checkpoint is not None and (checkpoint.format != format_ or checkpoint.rev > end.rev):
            checkpoint = None
        after = Position(checkpoint.rev, checkpoint.head) if checkpoint is not None else Position(0, b"")
        facts = [fact for fact in self._data.facts[thread] if fact.seq > after.rev]
        try:
            proved(thread, facts, after, end)
        except JournalCorrupt as error:
            return error
        return Journal(thread, checkpoint, facts, end)

    def _append(self, append: Append) -> Position:
        data, end = self._data, self._end(append.thread)
        if end.rev != append.expected_rev:
            if not end.rev:
                raise JournalUnknown("There is no such thread.", "Begin it with expected_rev 0.")
            raise stale(append.thread, append.expected_rev, end.rev)
        for fact in sealed(append, end.head):
            end = Position(fact.seq, fact.hash)
            data.tell(fact)
        data.heads.put(append.thread, (end.rev, end.head))
        self._tables.began.put(append.thread, append.tenant)
        return end
