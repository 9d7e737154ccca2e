"""Connections that Tenure opens for itself, with what it has to know about each."""

from __future__ import annotations

import select
import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import psycopg
from psycopg.pq import Format
from psycopg.rows import TupleRow, tuple_row

_LONG = 1.0


@dataclass(frozen=True, slots=True)
class Session:
    """How a connection reaches the server. Behind a pooler nothing of a session may be relied on."""

    pooled: bool

    @property
    def prepares(self) -> bool:
        """Whether statements may be prepared."""
        return not self.pooled

    @property
    def listens(self) -> bool:
        """Whether LISTEN works on it."""
        return not self.pooled

    def __str__(self) -> str:
        return "through a pooler (no prepared statements, no LISTEN)" if self.pooled else "directly"


class OwnConnection(psycopg.Connection[Any]):
    """A sync connection of Tenure's own."""

    session = Session(pooled=True)
    used_at = 0.0
    """When it was last looked at by ``in_doubt`` (monotonic seconds)."""

    @cached_property
    def hot(self) -> psycopg.RawCursor[TupleRow]:
        """The cursor of all hot statements, one after the other: a new one each time would find out anew how to read and
        write every column. It takes them with their parameters numbered.
        """
        cursor = psycopg.RawCursor(self, row_factory=tuple_row)
        cursor.format = Format.BINARY
        return cursor

    @cached_property
    def watch(self) -> select.poll:
        """Tells whether anything came from the server that nobody has read."""
        return _watch(self)


class OwnAsyncConnection(psycopg.AsyncConnection[Any]):
    """An async connection of Tenure's own."""

    session = Session(pooled=True)
    used_at = 0.0
    """As of ``OwnConnection``."""

    @cached_property
    def hot(self) -> psycopg.AsyncRawCursor[TupleRow]:
        """As of ``OwnConnection``."""
        cursor = psycopg.AsyncRawCursor(self, row_factory=tuple_row)
        cursor.format = Format.BINARY
        return cursor

    @cached_property
    def watch(self) -> select.poll:
        """As of ``OwnConnection``."""
        return _watch(self)


def _watch(connection: OwnConnection | OwnAsyncConnection) -> select.poll:
    watch = select.poll()
    watch.register(connection.fileno(), select.POLLIN)
    return watch


def in_doubt(connection: OwnConnection | OwnAsyncConnection) -> bool:
    """Whether it should be asked for a sign of life before use; it counts as used now.

    True where it lay idle for a second, or has something to read. A server that goes away closes its end, so what it left
    behind is told apart without a round trip, and nothing that might have been done is sent twice.
    """
    now = time.monotonic()
    before, connection.used_at = connection.used_at, now
    return now - before > _LONG or connection.closed or bool(connection.watch.poll(0))
