"""Drives operations over a psycopg connection: the only two places that wait, one sync and one async.

In autocommit ``Begin`` opens a transaction; within the caller's own transaction it opens a savepoint, so that what the
caller does commits or fails as one with what Tenure does.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row, tuple_row

from tenure.store.operation import Ahead, Begin, Calling, Commit, Landing, Op, Rollback, Statement, Step
from tenure.store.postgres.statements import text
from tenure.store.postgres.translation import transient, translated

T = TypeVar("T")
_TRIES = 5


class Frames:
    """The open transactions and savepoints of one operation, and the SQL that opens and closes them."""

    def __init__(self, nested: bool) -> None:
        self.nested = nested
        self.depth = 0

    def sql(self, step: Begin | Commit | Rollback) -> str:
        """The command for the step."""
        if isinstance(step, Begin):
            self.depth += 1
            outermost = self.depth == 1 and not self.nested
            return "begin" if outermost else f"savepoint tenure_{self.depth}"
        outermost = self.depth == 1 and not self.nested
        name = f"tenure_{self.depth}"
        self.depth -= 1
        if isinstance(step, Commit):
            return "commit" if outermost else f"release savepoint {name}"
        return "rollback" if outermost else f"rollback to savepoint {name}"


def run(connection: psycopg.Connection[Any], op: Op[T], *, prepare: bool = True) -> T:
    """Drive ``op`` to its result. Driver errors reach the operation, then the caller as ``TenureError``."""
    frames = Frames(_in_transaction(connection))

    def perform(step: Step) -> Any:
        if isinstance(step, Statement):
            cursor = connection.cursor(binary=True, row_factory=tuple_row if step.plain else dict_row)
            cursor.execute(text(step.name), step.params, prepare=prepare)
            return cursor.fetchall() if _has_rows(cursor) else []
        if isinstance(step, Ahead):
            return perform(step.statement)  # a blocking connection cannot go on meanwhile
        if isinstance(step, Landing):
            return step.ticket
        if isinstance(step, Calling):
            return step.function(connection)
        connection.execute(frames.sql(step), prepare=False)
        return None

    try:
        step = op.send(None)
        while True:
            try:
                answer = perform(step)
            except Exception as error:
                step = op.throw(error)
            else:
                step = op.send(answer)
    except StopIteration as stop:
        value: T = stop.value
        return value
    except psycopg.Error as error:
        raise (translated(error) or error) from error


async def run_async(connection: psycopg.AsyncConnection[Any], op: Op[T], *, prepare: bool = True) -> T:
    """The same over an async connection."""
    frames = Frames(_in_transaction(connection))
    flights: list[asyncio.Task[Any]] = []

    async def send(statement: Statement) -> Any:
        # A cursor of its own: several may be under way, one after the other on the connection.
        cursor = connection.cursor(binary=True, row_factory=tuple_row if statement.plain else dict_row)
        await cursor.execute(text(statement.name), statement.params, prepare=prepare)
        return await cursor.fetchall() if _has_rows(cursor) else []

    async def perform(step: Step) -> Any:
        if isinstance(step, Statement):
            return await send(step)
        if isinstance(step, Ahead):
            flights.append(asyncio.ensure_future(send(step.statement)))
            await asyncio.sleep(0)  # so that it is on its way
            return flights[-1]
        if isinstance(step, Landing):
            return await step.ticket
        if isinstance(step, Calling):
            given = step.function(connection)
            return await given if inspect.isawaitable(given) else given
        if isinstance(step, Rollback):
            await asyncio.gather(*flights, return_exceptions=True)
        await connection.execute(frames.sql(step), prepare=False)
        return None

    try:
        step = op.send(None)
        while True:
            try:
                answer = await perform(step)
            except Exception as error:
                step = op.throw(error)
            else:
                step = op.send(answer)
    except StopIteration as stop:
        value: T = stop.value
        return value
    except psycopg.Error as error:
        raise (translated(error) or error) from error
    finally:
        if flights:
            await asyncio.gather(*flights, return_exceptions=True)


def tried_again(attempt: int, error: BaseException) -> bool:
    """Whether a whole operation of our own should be driven once more after a deadlock or the like."""
    cause = error.__cause__ if error.__cause__ is not None else error
    return attempt < _TRIES and transient(cause)


def run_own(connection: psycopg.Connection[Any], make: Callable[[], Op[T]], *, prepare: bool = True) -> T:
    """Drive an operation on a connection of our own (autocommit), again after a deadlock."""
    attempt = 1
    while True:
        try:
            return run(connection, make(), prepare=prepare)
        except Exception as error:
            if not tried_again(attempt, error):
                raise
            attempt += 1


async def run_own_async(
    connection: psycopg.AsyncConnection[Any], make: Callable[[], Op[T]], *, prepare: bool = True
) -> T:
    """The same over an async connection."""
    attempt = 1
    while True:
        try:
            return await run_async(connection, make(), prepare=prepare)
        except Exception as error:
            if not tried_again(attempt, error):
                raise
            attempt += 1


def _has_rows(cursor: psycopg.Cursor[Any] | psycopg.AsyncCursor[Any]) -> bool:
    # Not by ``description``, which describes every column only to be thrown away.
    return cursor.pgresult is not None and cursor.pgresult.nfields > 0


def _in_transaction(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    return not connection.autocommit or connection.info.transaction_status != TransactionStatus.IDLE
