"""How far the ledger can be read without skipping anything (design 05, Out; docs/decisions/0011-reading-the-ledger.md).

Positions are drawn while transactions run, and transactions end in another order: a reader that has gone past a position
would miss the fact that turns up there later. So a position is safe only once every transaction has ended that had begun
when it was the highest one drawn; what begins later draws higher ones.
"""

from __future__ import annotations

from collections import deque

from tenure.store.operation import Op
from tenure.store.port import Store


class Horizon:
    """What one reader knows of it. ``safe`` is the highest position up to which all facts are there; it only grows."""

    def __init__(self) -> None:
        self.safe = 0
        self._noted: deque[tuple[int, int]] = deque()

    def look(self, store: Store) -> Op[int]:
        """Look once more how far it is safe; where nothing was written since, that is one small statement."""
        written = yield from store.ledger_written()
        if written > self._highest:
            # After the position was read: whoever drew it had its number before, which is lower than the mark.
            self.note(written, (yield from store.ledger_mark()))
        if self._noted:
            self.ended_below((yield from store.ledger_running()))
        return self.safe

    def note(self, written: int, mark: int) -> None:
        """The highest position drawn, and the number of a transaction that began after it was seen."""
        if written > self._highest:
            self._noted.append((written, mark))

    def ended_below(self, oldest_running: int) -> None:
        """All transactions with a lower number have ended."""
        while self._noted and self._noted[0][1] <= oldest_running:
            self.safe = self._noted.popleft()[0]

    @property
    def settled(self) -> bool:
        """Whether everything that was seen to be written is safe."""
        return not self._noted

    @property
    def _highest(self) -> int:
        return self._noted[-1][0] if self._noted else self.safe
