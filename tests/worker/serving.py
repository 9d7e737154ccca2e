"""A server beside a worker's test, and what a worker needs to reach it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tenure import Tenure
from tenure.api.settings import ServerSettings
from tenure.sdk.http.address import Address
from tests.api.conftest import Running, running

PLENTY = {"rate_per_second": 1e6, "rate_burst": 1_000_000, "ui": False}


@contextmanager
def serving(app: Tenure, **settings: Any) -> Iterator[Running]:
    """A server over the database of the client while the block lasts."""
    given = app.settings
    with running(ServerSettings(**({"dsn": given.dsn, "clock": given.clock, **PLENTY} | settings))) as server:
        yield server


def token_of(app: Tenure, name: str = "service:remote", *roles: str) -> str:
    """A fresh access token of a principal that works."""
    app.create_principal(name, roles=roles or ("worker_service",))
    return str(app.create_token(name).secret.reveal())


def address_for(app: Tenure, server: Running, name: str = "service:remote") -> Address:
    """Where a worker of the client's tenant finds the server."""
    return Address(server.url, token_of(app, name))


def secret_of(address: Address) -> str:
    """The token of an address."""
    return address.authorization.removeprefix("Bearer ")


class ServerProcess:
    """A ``tenure serve`` in a process of its own, that can be killed and started again at the same place."""

    def __init__(self, dsn: str, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._dsn = dsn
        self._log = folder / "serve.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        command = [sys.executable, "-m", "tenure.cli", "serve", "--no-ui", "--port", str(self.port)]
        with self._log.open("ab") as log:
            settings = kept | {"TENURE_DSN": self._dsn, "PYTHONPATH": str(Path(__file__).parents[2])}
            self._process = subprocess.Popen(command, env=settings, stdout=log, stderr=log)

    def wait(self, seconds: float = 60) -> None:
        """Wait until it answers."""
        deadline = time.monotonic() + seconds
        while True:
            assert self._process is not None and self._process.poll() is None, self._log.read_text()
            assert time.monotonic() < deadline, self._log.read_text()
            with contextlib.suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/health/ready", timeout=2).status_code == 200:
                    return
            time.sleep(0.05)

    def end(self, number: int = signal.SIGKILL) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(30)


class Proxy:
    """Forwards bytes between a worker and a server, and cuts the line where a test wants it."""

    def __init__(self, port: int) -> None:
        self._there = port
        self._writers: set[asyncio.StreamWriter] = set()
        self.swallow: bytes | None = None
        """The answer to the next request that holds this is lost: the server has seen it, the worker never hears of it."""
        self.swallowed = 0
        self.closed = False

    async def __aenter__(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exc: object) -> None:
        self.cut()
        self._server.close()

    def cut(self) -> None:
        """Break every connection."""
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.closed:
            writer.transport.abort()
            return
        there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._there)
        self._writers |= {writer, there_writer}
        lost = asyncio.Event()

        async def outward() -> None:
            while data := await reader.read(65536):
                if self.swallow is not None and self.swallow in data:
                    self.swallow = None
                    lost.set()
                there_writer.write(data)
            there_writer.close()

        async def inward() -> None:
            while data := await there_reader.read(65536):
                if lost.is_set():
                    self.swallowed += 1
                    break
                writer.write(data)
            writer.transport.abort()

        with contextlib.suppress(OSError):
            await asyncio.gather(outward(), inward())
        self._writers -= {writer, there_writer}
