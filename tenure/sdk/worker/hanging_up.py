"""Gives up on a server that does not answer: a connection can look alive for hours when its other end is gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg


@contextmanager
def hanging_up(connection: psycopg.AsyncConnection[Any], seconds: float) -> Iterator[None]:
    """Shut the connection's socket down unless the block ends within ``seconds``.

    Whoever waits on it then gets the driver's error. Canceling instead would have the driver ask the silent server first.
    """
    timer = asyncio.get_running_loop().call_later(seconds, _shut, connection)
    try:
        yield
    finally:
        timer.cancel()


def _shut(connection: psycopg.AsyncConnection[Any]) -> None:
    with contextlib.suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
