"""A real HTTP server that takes events: what it is to answer, and what came."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.waiting import until


@dataclass
class Came:
    """One request as it came."""

    body: bytes
    headers: dict[str, str]
    status: int

    @property
    def event(self) -> dict[str, Any]:
        event: dict[str, Any] = json.loads(self.body)
        return event


Answer = int | tuple[int, dict[str, str]]


@dataclass
class Receiver:
    """Listens on a port of this machine. ``answer`` gives the status of each event, by its document."""

    answer: Callable[[dict[str, Any]], Answer] = lambda _: 204
    came: list[Came] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> Receiver:
        self.up()
        return self

    def __exit__(self, *exc: object) -> None:
        self.down()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/events"

    @property
    def taken(self) -> list[dict[str, Any]]:
        """The events that it confirmed, in the order in which they came."""
        return [each.event for each in self.came if 200 <= each.status < 300]

    def wait_for(self, count: int, seconds: float = 30) -> None:
        """Wait until so many events were confirmed."""
        until(lambda: len(self.taken) >= count, seconds, lambda: f"{len(self.taken)} of {count} events came")

    def up(self) -> None:
        """Listen, on the port of before where there was one."""
        self._server = _Server(("127.0.0.1", self.port), _handler(self))
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def down(self) -> None:
        """Be away: connections are refused."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)
        for connection in list(self._server.open):
            connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, *args: Any) -> None:
        self.open: set[Any] = set()
        super().__init__(*args)


def _handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def setup(self) -> None:
            super().setup()
            self.server.open.add(self.connection)  # type: ignore[attr-defined]

        def finish(self) -> None:
            self.server.open.discard(self.connection)  # type: ignore[attr-defined]
            super().finish()

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except OSError:  # whoever asked is gone
                self.close_connection = True

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            answer = receiver.answer(json.loads(body))
            status, headers = answer if isinstance(answer, tuple) else (answer, {})
            receiver.came.append(Came(body, dict(self.headers), status))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    return Handler
