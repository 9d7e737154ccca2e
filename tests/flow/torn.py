"""A journal that is no part of the store's transaction, and that may break off after any entry: what no adapter should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from tenure.flow.journal import Append, Position
from tenure.flow.memory.journal import MemoryJournal
from tenure.flow.memory.tables import FlowTables
from tenure.store.operation import Op


class Torn(Exception):
    """The process is gone, and what was appended until now is kept."""


class TornJournal(MemoryJournal):
    """Keeps each entry at once, whatever becomes of the transaction; ``after`` counts down the entries until it breaks."""

    def __init__(self, now: Any = None) -> None:
        super().__init__(FlowTables(clock=now or (lambda: datetime(2026, 1, 5, 12, tzinfo=UTC))))
        self.after: int | None = None
        self.kept = 0

    def append_many(self, appends: Sequence[Append]) -> Op[list[Position]]:
        ends = []
        for append in appends:
            end = Position(append.expected_rev, append.head or b"")
            for number, entry in enumerate(append.entries):
                one = replace(append, entries=[entry], expected_rev=append.expected_rev + number, head=None)
                (end,) = yield from super().append_many([one])
                self.kept += 1
                if self.after is not None and self.kept >= self.after:
                    self.after = None
                    raise Torn
            ends.append(end)
        return ends
