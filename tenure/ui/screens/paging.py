"""Walking a long list page by page, by the key of the last row; nothing is ever counted or skipped over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K")
PAGE = 50


class Pages(Generic[K]):
    """Where a visitor stands in a list. Ask for one row more than a page holds, and hand all of them to ``cut``."""

    def __init__(self, size: int = PAGE) -> None:
        self.size = size
        self._starts: list[K | None] = [None]
        self.more = False

    @property
    def after(self) -> K | None:
        """The key after which the present page begins."""
        return self._starts[-1]

    @property
    def back(self) -> bool:
        """Whether there is a page before."""
        return len(self._starts) > 1

    @property
    def number(self) -> int:
        """Of the present page, from 1."""
        return len(self._starts)

    def cut(self, rows: Sequence[T]) -> list[T]:
        """The rows of the page; remembers whether there are more."""
        self.more = len(rows) > self.size
        return list(rows[: self.size])

    def turn(self, way: str, last: K | None) -> None:
        """Go ``on`` from the last row of the page, or ``back``."""
        if way == "on" and self.more and last is not None:
            self._starts.append(last)
        elif way == "back" and self.back:
            self._starts.pop()

    def restart(self) -> None:
        """Begin anew: the list is another one now."""
        self._starts = [None]


class ThreadPages(Pages[int]):
    """Where a visitor stands in a thread of facts, newest first. They are numbered without gaps, so a page is a range."""

    def window(self, newest: int) -> tuple[int, int]:
        """After which number the page begins and how many facts it has, where the newest is so numbered."""
        last = min(newest, self.after - 1) if self.after is not None else newest
        self._first = max(0, last - self.size)
        self.more = self._first > 0
        return self._first, max(0, last - self._first)

    def leaf(self, way: str) -> None:
        """Go ``on`` to what is older, or ``back``."""
        self.turn(way, self._first + 1)
