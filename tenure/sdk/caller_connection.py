"""The psycopg connection behind what a caller holds: psycopg itself, or SQLAlchemy 2."""

from __future__ import annotations

from typing import Any

import psycopg

from tenure.model.errors import InvalidRequest


def connection_of(transaction: Any) -> psycopg.Connection[Any]:
    """The sync connection of a psycopg connection, a SQLAlchemy ``Session`` or ``Connection``, or a ``Within``."""
    found = getattr(transaction, "connection", transaction)
    if callable(found):  # a SQLAlchemy Session: this also begins its transaction
        found = found().connection
    elif callable(getattr(transaction, "in_transaction", None)) and not transaction.in_transaction():
        # A SQLAlchemy Connection that has not begun would not commit what it knows nothing of.
        transaction.begin()
    found = getattr(found, "driver_connection", found)
    if isinstance(found, psycopg.Connection):
        return found
    raise _unusable(transaction)


async def async_connection_of(transaction: Any) -> psycopg.AsyncConnection[Any]:
    """The async connection of a psycopg async connection, a SQLAlchemy ``AsyncSession`` or ``AsyncConnection``, or an
    ``AsyncWithin``.
    """
    found = getattr(transaction, "transaction_of", transaction)
    if callable(getattr(found, "get_raw_connection", None)):  # an AsyncConnection
        if not found.in_transaction():
            await found.begin()
        found = (await found.get_raw_connection()).driver_connection
    elif callable(getattr(found, "connection", None)):  # an AsyncSession
        found = (await (await found.connection()).get_raw_connection()).driver_connection
    if isinstance(found, psycopg.AsyncConnection):
        return found
    raise _unusable(transaction)


def _unusable(transaction: Any) -> InvalidRequest:
    return InvalidRequest(
        f"{type(transaction).__name__} is no transaction that Tenure can join.",
        "Give a psycopg 3 connection, or a SQLAlchemy 2 session or connection on the psycopg driver.",
    )
