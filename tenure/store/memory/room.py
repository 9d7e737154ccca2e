"""What all parts of the memory store share: the data, and what makes a method an operation."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from tenure.store.memory.data import Data
from tenure.store.operation import Op

S = TypeVar("S", bound="Room")
P = ParamSpec("P")
T = TypeVar("T")


class Room:
    """One part of the store, over the same data as the others."""

    def __init__(self, data: Data) -> None:
        self._data = data

    @property
    def data(self) -> Data:
        """What it keeps, for rooms that are built on to the store."""
        return self._data

    def _atomically(self, work: Callable[[], T]) -> T:
        with self._data.atomic():
            return work()


def operation(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], Op[T]]:
    """Make ``method`` an atomic operation that yields nothing and runs when it is driven, not when it is called."""

    @functools.wraps(method)
    def run(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Op[T]:
        # As `yield from ()`, so that this is a generator although it has no step.
        yield from ()
        return self._atomically(lambda: method(self, *args, **kwargs))

    return run
