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
        """Look once more how far it is safe; two small statements, and each its own snapshot."""
        # In this order: whoever drew one of these positions had a transaction that the second look counts as begun.
        written = yield from store.ledger_written()
        oldest_running, first_unborn = yield from store.ledger_running()
        return self.note(written, oldest_running, first_unborn)

    def note(self, written: int, oldest_running: int, first_unborn: int) -> int:
        """What was seen: the highest position drawn, then the oldest transaction that runs and the first not begun."""
        if written > (self._noted[-1][0] if self._noted else self.safe):
            self._noted.append((written, first_unborn))
        while self._noted and self._noted[0][1] <= oldest_running:
            self.safe = self._noted.popleft()[0]
        return self.safe

    @property
    def settled(self) -> bool:
        """Whether everything that was seen to be written is safe."""
        return not self._noted
