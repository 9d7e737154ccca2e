"""``tenure worker`` in a process of its own, as signals and its handlers end it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tenure import Tenure
from tests.waiting import until

APPLICATION = """
import pathlib, time
from tenure import Tenure

app = Tenure()
here = pathlib.Path.cwd()

def wait(name):
    (here / f"{name}-begun").touch()
    while not (here / "finish").exists():
        time.sleep(0.01)
    return name

@app.task(queue="q", key="thread")
def in_thread() -> str:
    return wait("thread")

@app.task(queue="q", key="process", executor="process")
def in_process() -> str:
    return wait("process")
"""


class Command:
    """One that runs, its output in a file."""

    def __init__(self, folder: Path, environment: dict[str, str], arguments: tuple[str, ...]) -> None:
        self._log = folder / "log"
        command = [sys.executable, "-m", "tenure.cli", "worker", *arguments]
        with self._log.open("wb") as log:
            # With a process group of its own, as a shell gives it.
            self.process = subprocess.Popen(
                command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    @property
    def said(self) -> str:
        return self._log.read_text()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def press_ctrl_c(self) -> None:
        """As a terminal does: to all its processes."""
        os.killpg(self.process.pid, signal.SIGINT)

    def ends(self, seconds: float = 30) -> int:
        until(lambda: self.process.poll() is not None, seconds, lambda: self.said)
        assert self.process.returncode is not None
        return self.process.returncode


@pytest.fixture
def app(migrated_database: str) -> Iterator[Tenure]:
    with Tenure(migrated_database, actor="user:ada") as app:
        app.define_queue("q", retry_policy={"initial_delay_seconds": 3600})
        yield app


@pytest.fixture
def worker(tmp_path: Path, migrated_database: str) -> Iterator[Callable[..., Command]]:
    """Starts the command in a folder with the application."""
    (tmp_path / "jobs.py").write_text(APPLICATION)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    environment = kept | {"TENURE_DSN": migrated_database, "PYTHONPATH": f"{Path(__file__).parents[2]}:{tmp_path}"}
    started: list[Command] = []

    def start(*arguments: str) -> Command:
        started.append(Command(tmp_path, environment, ("jobs:app", *arguments)))
        return started[-1]

    yield start
    for command in started:
        if command.process.poll() is None:
            os.killpg(command.process.pid, signal.SIGKILL)
            command.process.wait(10)


def _submitted(app: Tenure, *actions: str) -> list[int]:
    return [app.submit(queue_key="q", next_action_key=action).subject for action in actions]


def _begun(folder: Path, *actions: str) -> bool:
    return all((folder / f"{action}-begun").exists() for action in actions)


def _state(app: Tenure, subject: int) -> str:
    return str(app.inspect(subject).situation.thread.envelope.state)


def test_ctrl_c_at_a_terminal_lets_finish_what_runs_in_a_process(app, worker, tmp_path):
    [subject] = _submitted(app, "process")
    command = worker()
    until(lambda: _begun(tmp_path, "process"), told=lambda: command.said)

    command.press_ctrl_c()
    until(lambda: "Stopping: SIGINT" in command.said, told=lambda: command.said)
    (tmp_path / "finish").touch()

    assert command.ends() == 0
    assert (_state(app, subject), "completed 1" in command.said) == ("COMPLETED", True)
