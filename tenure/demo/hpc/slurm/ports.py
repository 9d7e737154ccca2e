"""Ports for servers of our own."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Iterator
from contextlib import suppress


def free_ports(count: int) -> Iterator[int]:
    """Ports that nobody listens on, below those that the kernel gives to outgoing connections."""
    found = 0
    while found < count:
        port = 10_000 + secrets.randbelow(20_000)
        with socket.socket() as trial, suppress(OSError):
            trial.bind(("", port))
            found += 1
            yield port
