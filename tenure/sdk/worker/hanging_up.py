"""Gives up on a server that does not answer: a connection can look alive for hours when its other end is gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from typing import Any

import psycopg


class hanging_up:  # noqa: N801 - it stands where a function of contextlib would, and is asked for every statement
    """Shut the connection's socket down unless the block ends within ``seconds``.

    Whoever waits on it then gets the driver's error. Canceling instead would have the driver ask the silent server first.
    """

    __slots__ = ("_timer",)

    def __init__(self, connection: psycopg.AsyncConnection[Any], seconds: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(seconds, _shut, connection)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _shut(connection: psycopg.AsyncConnection[Any]) -> None:
    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
