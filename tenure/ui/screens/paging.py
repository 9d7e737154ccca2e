"""Walking a long list page by page, by the key of the last row; nothing is ever counted or skipped over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K")
PAGE = 50


class Pages(Generic[K]):
    """Where a visitor stands in a list. Ask for one row more than a page holds, and hand all of them to ``cut``."""

    def __init__(self) -> None:
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
        self.more = len(rows) > PAGE
        return list(rows[:PAGE])

    def turn(self, way: str, last: K | None) -> None:
        """Go ``on`` from the last row of the page, or ``back``."""
        if way == "on" and self.more and last is not None:
            self._starts.append(last)
        elif way == "back" and self.back:
            self._starts.pop()

    def restart(self) -> None:
        """Begin anew: the list is another one now."""
        self._starts = [None]
