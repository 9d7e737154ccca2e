"""The psycopg connection behind what a caller holds: psycopg itself, or SQLAlchemy 2."""

from __future__ import annotations

from typing import Any

import psycopg

from tenure.model.errors import InvalidRequest


def connection_of(transaction: Any) -> psycopg.Connection[Any]:
    """The sync connection of a psycopg connection, a SQLAlchemy ``Session`` or ``Connection``, or a ``Within``."""
    found = transaction
    if not isinstance(found, psycopg.Connection):
        found = getattr(found, "connection", found)
        if callable(found):  # a SQLAlchemy Session: this also begins its transaction
            found = found().connection
        found = getattr(found, "driver_connection", found)
    if isinstance(found, psycopg.Connection):
        return found
    raise _unusable(transaction)


async def async_connection_of(transaction: Any) -> psycopg.AsyncConnection[Any]:
    """The async connection of a psycopg async connection, a SQLAlchemy ``AsyncSession`` or ``AsyncConnection``, or an
    ``AsyncWithin``.
    """
    found = getattr(transaction, "transaction_of", transaction)
    if not isinstance(found, psycopg.AsyncConnection):
        connection = getattr(found, "connection", None)
        if callable(connection):  # an AsyncSession
            found = await connection()
        raw = getattr(found, "get_raw_connection", None)
        if callable(raw):  # an AsyncConnection
            found = (await raw()).driver_connection
    if isinstance(found, psycopg.AsyncConnection):
        return found
    raise _unusable(transaction)


def _unusable(transaction: Any) -> InvalidRequest:
    return InvalidRequest(
        f"{type(transaction).__name__} is no transaction that Tenure can join.",
        "Give a psycopg 3 connection, or a SQLAlchemy 2 session or connection on the psycopg driver.",
    )
