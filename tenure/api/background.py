"""A server that goes on in the background: started, found and stopped through a file in the folder of its data.

The running server holds a lock on that file through a handle that it inherits, so whether it lives needs no guess from
process ids, which are used again.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from tenure.model.errors import InvalidRequest, StoreUnavailable

_FILE, _LOG = "serve.json", "serve.log"
_PORTS = range(8000, 8100)
_POLL = 0.05


def require_installed() -> None:
    """Raises InvalidRequest where the parts of a server are not there: the extra ``server``."""
    if any(find_spec(module) is None for module in ("fastapi", "uvicorn", "nicegui")):
        raise InvalidRequest("The server's parts are not installed.", "Install them: pip install 'tenure[server]'.")


@dataclass(frozen=True, slots=True)
class Background:
    """A server in the background: its process, where it answers, and where it writes what it does."""

    pid: int
    address: str
    log: Path


def start(home: Path, arguments: Sequence[str], *, dsn: str, timeout: float = 30.0) -> Background:
    """Start ``tenure serve`` with further ``arguments``, and wait until it is ready; one that ran there before is stopped.

    Raises StoreUnavailable, with the end of its log, where it does not come up within ``timeout`` seconds.
    """
    stop(home)
    port = _free_port()
    log = home / _LOG
    command = [sys.executable, "-m", "tenure.cli", "serve", "--host", "127.0.0.1", "--port", str(port), *arguments]
    with _locked(home) as file, log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True,
            pass_fds=[file.fileno()], env=os.environ | {"TENURE_DSN": dsn},
        )  # fmt: skip
        found = Background(process.pid, f"http://127.0.0.1:{port}", log)
        json.dump({"pid": found.pid, "address": found.address}, file)
    _wait_ready(process, found, timeout)
    return found


def find(home: Path) -> Background | None:
    """The server that runs for this folder, or None."""
    path = home / _FILE
    try:
        with path.open("r+") as file:
            if _lock(file):
                return None  # nobody held it
            told = json.load(file)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return Background(told["pid"], told["address"], home / _LOG)


def stop(home: Path, timeout: float = 40.0) -> bool:
    """Stop it gracefully, by force after ``timeout`` seconds; False where none was running."""
    running = find(home)
    if running is None:
        return False
    deadline = time.monotonic() + timeout
    os.kill(running.pid, signal.SIGTERM)
    while find(home) is not None:
        if time.monotonic() > deadline:
            os.kill(running.pid, signal.SIGKILL)
            deadline += timeout
        time.sleep(_POLL)
    return True


@contextmanager
def _locked(home: Path) -> Iterator[IO[str]]:
    with (home / _FILE).open("w") as file:
        if not _lock(file):
            raise StoreUnavailable("Another server is just being started here.", "Try again in a moment.")
        yield file


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _free_port() -> int:
    for port in _PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free: int = probe.getsockname()[1]
        return free


def _wait_ready(process: subprocess.Popen[bytes], server: Background, timeout: float) -> None:
    import httpx  # noqa: PLC0415 - most commands start no server, and it takes its time

    deadline = time.monotonic() + timeout
    while True:
        try:
            if httpx.get(f"{server.address}/health/ready", timeout=2, trust_env=False).is_success:
                return
        except httpx.TransportError:
            pass
        if process.poll() is not None or time.monotonic() > deadline:
            process.kill()
            end = server.log.read_text(errors="replace").strip()[-500:]
            raise StoreUnavailable(f"The server did not come up: {end or 'it said nothing.'}", f"See {server.log}.")
        time.sleep(_POLL)
