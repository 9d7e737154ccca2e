"""The pytest plugin as its users meet it: in a run of their own, in their own project."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tenure.testing import MovableClock

_ROOT = Path(__file__).parents[2]


def run_pytest(folder: Path, text: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_theirs.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:tenure"]
    environment = os.environ | {"PYTHONPATH": str(_ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | environment
    command += ["-p", "tenure.testing.plugin"]
    return subprocess.run(
        command, cwd=folder, env=environment, check=False, capture_output=True, text=True, timeout=100
    )


THEIRS = """
from tenure import Defer, Retry
from tenure.testing import drain


def test_work_is_done_and_led_to_more(tenure_app):
    seen = []

    @tenure_app.task(queue="first")
    def first(number: int) -> None:
        seen.append(number)
        second.submit(number + 1)

    @tenure_app.task(queue="second")
    def second(number: int) -> None:
        seen.append(number)

    tenure_app.define_queue("first")
    tenure_app.define_queue("second")
    first.submit(1)
    assert drain(tenure_app)["completed"] == 2
    assert seen == [1, 2]


def test_the_clock_moves_what_is_put_off(tenure_app, tenure_clock):
    @tenure_app.task(queue="q")
    def late() -> None:
        seen.append(tenure_clock.now())
        if len(seen) == 1:
            raise Defer(seconds=3600)

    seen = []
    tenure_app.define_queue("q")
    subject = late.submit()
    assert drain(tenure_app)["deferred"] == 1
    assert drain(tenure_app)["claimed"] == 0
    tenure_clock.advance(hours=1)
    assert drain(tenure_app)["completed"] == 1
    assert tenure_app.inspect(subject).situation.thread.envelope.state == "COMPLETED"


def test_every_test_has_a_database_of_its_own(tenure_app):
    assert tenure_app.queues() == []
"""


def test_the_fixtures_work_on_the_server_that_tenure_test_dsn_names(tmp_path, pg_server, admin):
    done = run_pytest(tmp_path, THEIRS, TENURE_TEST_DSN=pg_server)

    assert "3 passed" in done.stdout, done.stdout + done.stderr
    assert admin.execute("select from pg_database where datname like 'tenure_test%'").fetchall() == []


def test_without_a_dsn_the_fixtures_start_a_server_and_stop_it(tmp_path):
    text = (
        "def test_it(tenure_server, tenure_database):\n    print('SERVER', tenure_server)\n    assert tenure_database\n"
    )

    done = run_pytest(tmp_path, text + "    assert False, tenure_server\n", TENURE_TEST_DSN="")

    socket = done.stdout.partition("?host=")[2].partition("&")[0]
    assert socket, done.stdout + done.stderr
    assert not Path(socket).exists()


def test_a_clock_stands_still_until_it_is_moved_and_never_goes_back():
    clock = MovableClock(datetime(2026, 1, 1, tzinfo=UTC))

    assert clock() == clock.now() == datetime(2026, 1, 1, tzinfo=UTC)
    assert clock.advance(hours=1, seconds=1) == clock.now() == datetime(2026, 1, 1, 1, 0, 1, tzinfo=UTC)
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(seconds=-1)
