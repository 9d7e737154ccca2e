"""Turns what PostgreSQL and its driver raise into errors for people."""

from __future__ import annotations

import psycopg
from psycopg import errors as pg

from tenure.model.errors import InvalidPayload, LawViolation, StoreUnavailable, TenureError

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
