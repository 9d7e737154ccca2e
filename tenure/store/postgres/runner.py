"""Drives operations over a psycopg connection: the only two places that wait, one sync and one async.

In autocommit ``Begin`` opens a transaction; within the caller's own transaction it opens a savepoint, so that what the
caller does commits or fails as one with what Tenure does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors as pg
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.rows import dict_row, tuple_row

from tenure.model.errors import SchemaChanged
from tenure.store.operation import Ahead, Alone, Begin, Calling, Commit, Landing, Op, Rollback, Statement, Step
from tenure.store.postgres.own_connection import OwnAsyncConnection, OwnConnection
from tenure.store.postgres.statements import numbered, text
from tenure.store.postgres.translation import outdated, transient, translated

T = TypeVar("T")
Params = Sequence[Any] | Mapping[str, Any]
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
    """Drive ``op`` to its result. Driver errors reach the operation, then the caller as ``TenureError``.

    Others may use the connection meanwhile: the threads of a caller whose transaction it is, for instance.
    """
    return _run(_Sending(connection, prepare), op)


def _run(sending: _Sending, op: Op[T]) -> T:
    try:
        try:
            step = op.send(None)
            while True:
                try:
                    answer = sending.perform(step)
                except Exception as error:
                    step = op.throw(error)
                else:
                    step = op.send(answer)
        except StopIteration as stop:
            value: T = stop.value
            sending.land()
            return value
        except BaseException as error:
            sending.land(error)
            raise
    except psycopg.Error as error:
        raise (translated(error) or error) from error


async def run_async(connection: psycopg.AsyncConnection[Any], op: Op[T], *, prepare: bool = True) -> T:
    """The same over an async connection."""
    return await _run_async(_AsyncSending(connection, prepare), op)


async def _run_async(sending: _AsyncSending, op: Op[T]) -> T:
    try:
        try:
            step = op.send(None)
            while True:
                try:
                    answer = await sending.perform(step)
                except Exception as error:
                    step = op.throw(error)
                else:
                    step = op.send(answer)
        except StopIteration as stop:
            value: T = stop.value
            await sending.land()
            return value
        except BaseException as error:
            await sending.land(error)
            raise
    except psycopg.Error as error:
        raise (translated(error) or error) from error


class _Sending:
    """Performs the steps of one operation on a connection. ``hot`` is its cursor for hot statements, where nobody else
    uses the connection meanwhile.
    """

    __slots__ = ("_connection", "_flight", "_frames", "_hot", "_prepare")

    def __init__(
        self, connection: psycopg.Connection[Any], prepare: bool, hot: psycopg.RawCursor[Any] | None = None
    ) -> None:
        self._connection = connection
        self._prepare = prepare
        self._hot = hot
        self._frames: Frames | None = None
        self._flight: AbstractContextManager[Any] | None = None
        """The pipeline in which statements were sent ahead."""

    def perform(self, step: Step) -> Any:
        if isinstance(step, Ahead):
            return self._ahead(step.statement)
        if isinstance(step, Landing):
            return step.ticket.fetchall()
        if self._flight is not None:
            self._leave(step)
        if isinstance(step, Statement):
            return self._rows(step)
        if isinstance(step, Alone):
            return _alone(self._connection)
        if isinstance(step, Calling):
            return step.function(self._connection)
        if self._frames is None:
            self._frames = Frames(_in_transaction(self._connection))
        self._connection.execute(self._frames.sql(step), prepare=False)
        return None

    def _rows(self, statement: Statement) -> Sequence[Any]:
        cursor: psycopg.Cursor[Any]
        if statement.plain and self._hot is not None:
            cursor, (sql, params) = self._hot, _numbered(statement)
        else:
            cursor, (sql, params) = _cursor(self._connection, statement), _named(statement)
        try:
            cursor.execute(sql, params, prepare=self._prepare)
        except pg.FeatureNotSupported as error:
            if not (outdated(error) and _idle(self._connection)):
                raise
            # It did nothing, and what the operation has done before it must not be done twice.
            forget_statements(self._connection)
            cursor.execute(sql, params, prepare=self._prepare)
        if cursor.pgresult is None:  # the caller's connection is in a pipeline of its own
            with self._connection.pipeline() as theirs:
                theirs.sync()
        return cursor.fetchall() if _has_rows(cursor) else []

    def _ahead(self, statement: Statement) -> psycopg.Cursor[Any]:
        if self._connection.info.pipeline_status == PipelineStatus.OFF:
            flight = self._connection.pipeline()
            flight.__enter__()
            self._flight = flight
        cursor = _cursor(self._connection, statement)
        return cursor.execute(text(statement.name), statement.params, prepare=self._prepare)

    def _leave(self, step: Step) -> None:
        with suppress(psycopg.Error) if isinstance(step, Rollback) else nullcontext():
            self.land()  # what failed has been told already where it is rolled back

    def land(self, error: BaseException | None = None) -> None:
        """Wait for all that was sent ahead, at the end of the operation or once something else is to be done."""
        flight, self._flight = self._flight, None
        if flight is not None:
            flight.__exit__(type(error) if error is not None else None, error, None)


class _AsyncSending:
    """The same over an async connection."""

    __slots__ = ("_connection", "_flight", "_frames", "_hot", "_prepare")

    def __init__(
        self, connection: psycopg.AsyncConnection[Any], prepare: bool, hot: psycopg.AsyncRawCursor[Any] | None = None
    ) -> None:
        self._connection = connection
        self._prepare = prepare
        self._hot = hot
        self._frames: Frames | None = None
        self._flight: AbstractAsyncContextManager[Any] | None = None

    async def perform(self, step: Step) -> Any:
        if isinstance(step, Ahead):
            return await self._ahead(step.statement)
        if isinstance(step, Landing):
            return await step.ticket.fetchall()
        if self._flight is not None:
            await self._leave(step)
        if isinstance(step, Statement):
            return await self._rows(step)
        if isinstance(step, Alone):
            return _alone(self._connection)
        if isinstance(step, Calling):
            given = step.function(self._connection)
            return await given if inspect.isawaitable(given) else given
        if self._frames is None:
            self._frames = Frames(_in_transaction(self._connection))
        await self._connection.execute(self._frames.sql(step), prepare=False)
        return None

    async def _rows(self, statement: Statement) -> Sequence[Any]:
        cursor: psycopg.AsyncCursor[Any]
        if statement.plain and self._hot is not None:
            cursor, (sql, params) = self._hot, _numbered(statement)
        else:
            cursor, (sql, params) = _async_cursor(self._connection, statement), _named(statement)
        try:
            await cursor.execute(sql, params, prepare=self._prepare)
        except pg.FeatureNotSupported as error:
            if not (outdated(error) and _idle(self._connection)):
                raise
            await forget_statements_async(self._connection)
            await cursor.execute(sql, params, prepare=self._prepare)
        if cursor.pgresult is None:
            async with self._connection.pipeline() as theirs:
                await theirs.sync()
        return await cursor.fetchall() if _has_rows(cursor) else []

    async def _ahead(self, statement: Statement) -> psycopg.AsyncCursor[Any]:
        if self._connection.info.pipeline_status == PipelineStatus.OFF:
            flight = self._connection.pipeline()
            await flight.__aenter__()
            self._flight = flight
        cursor = _async_cursor(self._connection, statement)
        return await cursor.execute(text(statement.name), statement.params, prepare=self._prepare)

    async def _leave(self, step: Step) -> None:
        with suppress(psycopg.Error) if isinstance(step, Rollback) else nullcontext():
            await self.land()

    async def land(self, error: BaseException | None = None) -> None:
        """As of ``_Sending``."""
        flight, self._flight = self._flight, None
        if flight is not None:
            await flight.__aexit__(type(error) if error is not None else None, error, None)


def tried_again(attempt: int, error: BaseException) -> bool:
    """Whether a whole operation of our own should be driven once more, after a deadlock, a migration or the like."""
    cause = error.__cause__ if error.__cause__ is not None else error
    return attempt < _TRIES and (transient(cause) or isinstance(error, SchemaChanged))


def forget_statements(connection: psycopg.Connection[Any]) -> None:
    """Have everything prepared anew from now on. On a connection of our own, between transactions.

    psycopg forgets what it prepared, here and on the server, with a block that is rolled back.
    """
    with suppress(psycopg.Error), connection.transaction(force_rollback=True):
        pass  # where the connection breaks just now, its next use tells


async def forget_statements_async(connection: psycopg.AsyncConnection[Any]) -> None:
    """The same of an async connection."""
    with suppress(psycopg.Error):
        async with connection.transaction(force_rollback=True):
            pass


def run_own(connection: psycopg.Connection[Any], make: Callable[[], Op[T]]) -> T:
    """Drive an operation in autocommit, again after a deadlock and after a migration that changed what it reads, on a
    connection that nobody else uses meanwhile.

    One that Tenure did not open is taken to reach the server directly.
    """
    own = connection if isinstance(connection, OwnConnection) else None
    prepare, hot = (own.session.prepares, own.hot) if own is not None else (True, None)
    attempt = 1
    while True:
        try:
            return _run(_Sending(connection, prepare, hot), make())
        except Exception as error:
            if not tried_again(attempt, error):
                raise
            if isinstance(error, SchemaChanged):
                forget_statements(connection)
            attempt += 1


async def run_own_async(connection: OwnAsyncConnection, make: Callable[[], Op[T]]) -> T:
    """The same over an async connection of Tenure's own."""
    attempt = 1
    while True:
        try:
            return await _run_async(_AsyncSending(connection, connection.session.prepares, connection.hot), make())
        except Exception as error:
            if not tried_again(attempt, error):
                raise
            if isinstance(error, SchemaChanged):
                await forget_statements_async(connection)
            attempt += 1


def _cursor(connection: psycopg.Connection[Any], statement: Statement) -> psycopg.Cursor[Any]:
    return connection.cursor(binary=True, row_factory=tuple_row if statement.plain else dict_row)


def _async_cursor(connection: psycopg.AsyncConnection[Any], statement: Statement) -> psycopg.AsyncCursor[Any]:
    return connection.cursor(binary=True, row_factory=tuple_row if statement.plain else dict_row)


def _numbered(statement: Statement) -> tuple[str, Params]:
    sql, names = numbered(statement.name)
    return sql, [statement.params[name] for name in names]


def _named(statement: Statement) -> tuple[str, Params]:
    return text(statement.name), statement.params


def _has_rows(cursor: psycopg.Cursor[Any] | psycopg.AsyncCursor[Any]) -> bool:
    # Not by ``description``, which describes every column only to be thrown away.
    return cursor.pgresult is not None and cursor.pgresult.nfields > 0


def _in_transaction(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    return not connection.autocommit or not _idle(connection)


def _alone(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    return not _in_transaction(connection) and connection.pgconn.pipeline_status == PipelineStatus.OFF


def _idle(connection: psycopg.Connection[Any] | psycopg.AsyncConnection[Any]) -> bool:
    return connection.pgconn.transaction_status == TransactionStatus.IDLE
