"""The network between a node and its server, which can be cut.

A relay for TCP: connections to ``port`` go on to the server, as long as the wire is whole.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from enum import StrEnum

_CHUNK = 1 << 16
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\ncontent-length: 2\r\n"
    b"connection: close\r\n\r\n{}"
)


class Condition(StrEnum):
    """What becomes of connections."""

    WHOLE = "whole"
    CUT = "cut"
    """They are broken off, and no new one comes about."""
    BUSY = "busy"
    """Each request is answered with 503, as by a load balancer without a server."""
    MUTE = "mute"
    """Requests arrive at the server, and its answers are lost."""


class Wire:
    """A relay in threads of this process, to a port of this host."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._condition = Condition.WHOLE
        self._ends: set[socket.socket] = set()
        self._guard = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.requests = 0
        """How many pieces of data have come from the node's side."""
        threading.Thread(target=self._accept, name="wire", daemon=True).start()

    def become(self, condition: Condition) -> None:
        """Break off what is connected, and treat what comes from now on like this."""
        with self._guard:
            self._condition = condition
            ends = list(self._ends)
        for end in ends:
            _break(end)

    def close(self) -> None:
        """Break off everything for good."""
        self._listener.close()
        self.become(Condition.CUT)

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(near,), name="wire", daemon=True).start()

    def _serve(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError):
            if self._condition is Condition.CUT:
                _break(near)
            elif self._condition is Condition.BUSY:
                near.recv(_CHUNK)
                self.requests += 1
                near.sendall(_BUSY)
            else:
                with socket.create_connection(("127.0.0.1", self._server_port)) as far, self._known(near, far):
                    back = threading.Thread(target=self._answers, args=(far, near), name="wire", daemon=True)
                    back.start()
                    self._requests(near, far)
                    back.join()

    @contextlib.contextmanager
    def _known(self, *ends: socket.socket) -> Iterator[None]:
        with self._guard:
            self._ends.update(ends)
        try:
            yield
        finally:
            with self._guard:
                self._ends.difference_update(ends)

    def _requests(self, near: socket.socket, far: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := near.recv(_CHUNK):
                self.requests += 1
                far.sendall(data)
        _finish(far)

    def _answers(self, far: socket.socket, near: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := far.recv(_CHUNK):
                if self._condition is Condition.MUTE:
                    _break(near)
                    break
                near.sendall(data)
        _finish(near)


def _finish(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def _break(end: socket.socket) -> None:
    """End a connection as a broken network does: without a goodbye."""
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        end.shutdown(socket.SHUT_RDWR)
