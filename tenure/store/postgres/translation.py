"""Turns what PostgreSQL and its driver raise into errors for people."""

from __future__ import annotations

import psycopg
from psycopg import errors as pg

from tenure.model.errors import InvalidPayload, LawViolation, SchemaChanged, StoreUnavailable, TenureError

# A standby while another server takes over, and a session that was ended for being idle: a new connection helps.
_AWAY = pg.ReadOnlySqlTransaction | pg.IdleInTransactionSessionTimeout
_PAYLOAD = (pg.UntranslatableCharacter, pg.InvalidTextRepresentation, pg.CharacterNotInRepertoire)


def translated(error: BaseException) -> TenureError | None:
    """The error to raise instead, or None where the original tells it best."""
    if isinstance(error, TenureError):
        return error
    if not isinstance(error, psycopg.Error):
        return None
    message = str(error.diag.message_primary or error).strip()
    if (error.sqlstate or "").startswith("TN"):
        hint = error.diag.message_hint or "Change it through its action."
        return LawViolation(message + ".", hint, sqlstate=error.sqlstate)
    if isinstance(error, pg.UndefinedTable | pg.InvalidSchemaName | pg.UndefinedFunction | pg.UndefinedColumn):
        return StoreUnavailable(
            f"The database does not have Tenure's present schema: {message}.", "Run `tenure migrate` on it."
        )
    if outdated(error):
        return SchemaChanged(
            "A table was changed since this connection prepared its statements.",
            "Run the transaction again: nothing of it was kept.",
        )
    # Without a sqlstate it is the driver that could not write a value.
    if isinstance(error, _PAYLOAD) or (isinstance(error, psycopg.DataError) and error.sqlstate is None):
        return InvalidPayload(f"PostgreSQL cannot keep this text: {message}.", "Remove NUL and invalid characters.")
    if isinstance(error, pg.CheckViolation):
        return LawViolation(f"The database refused it: {message}.", "Correct the value that the constraint names.",
                            constraint=error.diag.constraint_name)  # fmt: skip
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError | _AWAY):
        return StoreUnavailable(
            f"The database did not answer: {message}.",
            "Nothing is known to have changed; send it again with the same key.",
        )
    return None


def transient(error: BaseException) -> bool:
    """True for what goes away when the whole transaction is tried again."""
    return isinstance(error, pg.DeadlockDetected | pg.SerializationFailure | pg.LockNotAvailable)


def outdated(error: BaseException) -> bool:
    """True where a prepared statement would give other columns by now: the connection has to prepare anew what it sends.

    Known by where the server raises it, since the text comes in the server's language.
    """
    return isinstance(error, pg.FeatureNotSupported) and error.diag.source_function == "RevalidateCachedQuery"
