"""One code path for sync and async: an operation is a generator that yields steps and receives rows.

A store's methods and the engine's actions are such generators; a small sync or async runner drives them
(design 01, Architecture). The memory store yields nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Statement:
    """Run the statement file ``name`` with these parameters; answered with its rows.

    Rows are dicts; with ``plain`` they are tuples, for the statements where that matters.
    """

    name: str
    params: Mapping[str, Any] = field(default_factory=dict)
    plain: bool = False


@dataclass(frozen=True, slots=True)
class Alone:
    """Answered with whether the next statement will be a transaction of its own, as only whoever runs it knows."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Open a transaction, or a savepoint within the caller's."""


@dataclass(frozen=True, slots=True)
class Commit:
    """Close what the matching ``Begin`` opened."""


@dataclass(frozen=True, slots=True)
class Rollback:
    """Undo since the matching ``Begin``."""


@dataclass(frozen=True, slots=True)
class Ahead:
    """Send a statement and go on; answered with a ticket. What follows is prepared while the database works."""

    statement: Statement


@dataclass(frozen=True, slots=True)
class Landing:
    """Wait for what was sent ahead; answered with its rows."""

    ticket: Any


@dataclass(frozen=True, slots=True)
class Calling:
    """Call a function of the caller's with the connection, within the transaction; answered with what it gives.

    Where the runner is async, what can be awaited is.
    """

    function: Callable[[Any], Any]


Step = Statement | Alone | Begin | Commit | Rollback | Ahead | Landing | Calling
Rows = Sequence[Any]
Op = Generator[Step, Any, T]


def done(value: T) -> Op[T]:
    """An operation that needs no step."""
    yield from ()
    return value


def run_pure(op: Op[T]) -> T:
    """Drive an operation that yields nothing (the memory store's); a step is a programming error."""
    try:
        step = next(op)
    except StopIteration as stop:
        value: T = stop.value
        return value
    raise TypeError(f"{step!r} needs a database")
