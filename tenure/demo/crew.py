"""The service workers of the demonstration, each a process of its own that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tenure.demo.troubles import DemoFailed

_STOP_SECONDS = 20


class Crew:
    """Worker processes by worker_key. Each writes what it does, as JSON Lines, into a log of its own."""

    def __init__(self, dsn: str, tenant: str, logs: Path) -> None:
        self._environment = os.environ | {"TENURE_DSN": dsn, "TENURE_TENANT": tenant}
        self._logs = logs
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, key: str) -> int:
        """Start a worker that does one thing at a time; its process id."""
        command = [
            sys.executable, "-m", "tenure.cli", "--json", "--actor", f"service:{key}", "worker", "tenure.demo.app:app",
            "--worker-key", key, "--concurrency", "1", "--prefetch", "0", "--sweep", "1",
        ]  # fmt: skip
        with (self._logs / f"{key.replace('/', '-')}.log").open("ab") as log:
            process = subprocess.Popen(command, env=self._environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._processes[key] = process
        return process.pid

    def check(self) -> None:
        """Raise DemoFailed where a worker has ended that nobody stopped."""
        for key, process in self._processes.items():
            if process.poll() is not None:
                raise DemoFailed(
                    f"The worker {key} ended with status {process.returncode}.", f"See its log in {self._logs}."
                )

    def kill(self, key: str) -> int:
        """Kill a worker without warning (SIGKILL): it can neither finish nor give anything back."""
        process = self._processes.pop(key)
        process.send_signal(signal.SIGKILL)
        return process.wait(_STOP_SECONDS)

    def stop(self) -> dict[str, int]:
        """Stop all workers gracefully; the exit status of each."""
        for process in self._processes.values():
            process.terminate()
        return {key: process.wait(_STOP_SECONDS) for key, process in self._processes.items()}

    def abandon(self) -> None:
        """Make sure that no process is left behind, whatever happened."""
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
                process.wait(_STOP_SECONDS)
