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
import asyncio, pathlib, time
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

@app.task(queue="q", key="beside")
async def beside_the_loop() -> str:
    return await asyncio.to_thread(wait, "beside")

@app.task(queue="q", key="nothing", executor="process")
def nothing() -> None: ...
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

    @property
    def is_gone(self) -> bool:
        """With every process that it has started."""
        self.process.poll()
        try:
            os.killpg(self.process.pid, 0)
        except ProcessLookupError:
            return True
        return False

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
        if not command.is_gone:
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


def test_what_still_runs_when_the_grace_is_over_ends_with_the_process(app, worker, tmp_path):
    subjects = _submitted(app, "thread", "process")
    command = worker("--grace", "0.2")
    until(lambda: _begun(tmp_path, "thread", "process"), told=lambda: command.said)

    command.signal(signal.SIGTERM)

    assert command.ends() == 0
    until(lambda: command.is_gone)
    told = ["Waiting up to 0.2 s for 2 handlers; again to stop at once.",
            "2 handlers were left; their leases run out.", "Stopped (SIGTERM)"]  # fmt: skip
    assert [command.said.index(line) for line in told] == sorted(command.said.index(line) for line in told)
    assert "Traceback" not in command.said
    assert [_state(app, subject) for subject in subjects] == ["RUNNING", "RUNNING"]
    assert app.workers() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_grace_at_once(app, worker, tmp_path, number):
    _submitted(app, "thread", "process")
    command = worker("--grace", "600")
    until(lambda: _begun(tmp_path, "thread", "process"), told=lambda: command.said)

    command.signal(number)
    until(lambda: "Waiting up to 600 s for 2 handlers" in command.said, told=lambda: command.said)
    # Again and again: those that come within half a second of the first are the same wish.
    until(lambda: command.is_gone or command.signal(number), told=lambda: command.said)

    assert command.ends() == 0
    assert command.said.count(f"Stopping at once: {number.name}.") == 1
    assert "Traceback" not in command.said


def test_nothing_is_waited_for_where_nothing_runs_and_processes_are_idle(app, worker, tmp_path):
    [subject] = _submitted(app, "nothing")
    command = worker("--grace", "600")
    until(lambda: _state(app, subject) == "COMPLETED", told=lambda: command.said)

    command.signal(signal.SIGTERM)

    assert command.ends() == 0
    until(lambda: command.is_gone)
    assert not any(word in command.said for word in ("Waiting", "left", "Traceback"))


def test_what_a_coroutine_left_in_a_thread_does_not_keep_the_process(app, worker, tmp_path):
    [subject] = _submitted(app, "beside")
    command = worker("--grace", "0")
    until(lambda: _begun(tmp_path, "beside"), told=lambda: command.said)

    command.signal(signal.SIGTERM)

    assert command.ends() == 0
    assert _state(app, subject) == "READY"
