"""Drives operations over a psycopg connection: the only two places that wait, one sync and one async.

In autocommit ``Begin`` opens a transaction; within the caller's own transaction it opens a savepoint, so that what the
caller does commits or fails as one with what Tenure does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import AsyncExitStack, ExitStack, suppress
from typing import Any, TypeVar

import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus
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
    flight = ExitStack()  # holds the pipeline in which statements were sent ahead

    def send(statement: Statement) -> psycopg.Cursor[Any]:
        cursor = connection.cursor(binary=True, row_factory=tuple_row if statement.plain else dict_row)
        cursor.execute(text(statement.name), statement.params, prepare=prepare)
        return cursor

    def perform(step: Step) -> Any:
        if isinstance(step, Ahead):
            if connection.info.pipeline_status == PipelineStatus.OFF:
                flight.enter_context(connection.pipeline())
            return send(step.statement)
        if isinstance(step, Landing):
            return step.ticket.fetchall()
        if isinstance(step, Rollback):
            with suppress(psycopg.Error):  # what failed has been told already
                flight.close()
        flight.close()
        if isinstance(step, Statement):
            cursor = send(step)
            if cursor.pgresult is None:  # the caller's connection is in a pipeline of its own
                with connection.pipeline() as theirs:
                    theirs.sync()
            return cursor.fetchall() if _has_rows(cursor) else []
        if isinstance(step, Calling):
            return step.function(connection)
        connection.execute(frames.sql(step), prepare=False)
        return None

    def drive() -> T:
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

    try:
        with flight:
            return drive()
    except psycopg.Error as error:
        raise (translated(error) or error) from error


async def run_async(connection: psycopg.AsyncConnection[Any], op: Op[T], *, prepare: bool = True) -> T:
    """The same over an async connection."""
    frames = Frames(_in_transaction(connection))
    flight = AsyncExitStack()

    async def send(statement: Statement) -> psycopg.AsyncCursor[Any]:
        cursor = connection.cursor(binary=True, row_factory=tuple_row if statement.plain else dict_row)
        await cursor.execute(text(statement.name), statement.params, prepare=prepare)
        return cursor

    async def perform(step: Step) -> Any:
        if isinstance(step, Ahead):
            if connection.info.pipeline_status == PipelineStatus.OFF:
                await flight.enter_async_context(connection.pipeline())
            return await send(step.statement)
        if isinstance(step, Landing):
            return await step.ticket.fetchall()
        if isinstance(step, Rollback):
            with suppress(psycopg.Error):  # what failed has been told already
                await flight.aclose()
        await flight.aclose()
        if isinstance(step, Statement):
            cursor = await send(step)
            if cursor.pgresult is None:
                async with connection.pipeline() as theirs:
                    await theirs.sync()
            return await cursor.fetchall() if _has_rows(cursor) else []
        if isinstance(step, Calling):
            given = step.function(connection)
            return await given if inspect.isawaitable(given) else given
        await connection.execute(frames.sql(step), prepare=False)
        return None

    async def drive() -> T:
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

    try:
        async with flight:
            return await drive()
    except psycopg.Error as error:
        raise (translated(error) or error) from error


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
