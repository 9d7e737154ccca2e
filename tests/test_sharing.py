"""Processes that share the tests end with a report even when one of them dies in the middle of its share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_WELL = "def test_well(): pass\n"
_DEADLY = "import os\ndef test_deadly(): os._exit(1)\n"
_ONE_DIES_HAVING_COLLECTED = """\
import os, pytest
@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    if os.environ.get("PYTEST_XDIST_WORKER") == "gw1":
        os._exit(1)
"""
_OTHERS_COLLECT_SLOWLY = """\
import os, time
time.sleep({"gw0": 1.5, "gw2": 2.5}.get(os.environ.get("PYTEST_XDIST_WORKER"), 0))
"""


def _run(folder: Path) -> str:
    plugins = ["-p", "xdist.plugin", "-p", "tests.sharing", "-p", "no:cacheprovider"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *plugins,
        "-c",
        os.devnull,
        "--rootdir",
        str(folder),
        "-n",
        "2",
        str(folder),
    ]
    alone = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    run = subprocess.run(
        command, cwd=_ROOT, env=alone | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, capture_output=True, text=True, timeout=100,
        check=False,
    )  # fmt: skip
    return run.stdout + run.stderr


@pytest.mark.parametrize("last", [_DEADLY, _DEADLY + _WELL], ids=["alone", "with another"])
def test_what_processes_die_of_is_told_once_and_all_else_runs(tmp_path: Path, last: str) -> None:
    (tmp_path / "test_0.py").write_text(_DEADLY + _WELL)
    for number in range(1, 6):
        (tmp_path / f"test_{number}.py").write_text(_WELL)
    (tmp_path / "test_last.py").write_text(last)
    told = _run(tmp_path)
    assert f"2 failed, {6 + last.count(_WELL)} passed" in told, told


def test_a_successor_that_finds_other_tests_ends_the_run(tmp_path: Path) -> None:
    other = tmp_path / "test_other.py"
    other.write_text(_WELL)
    change = f"import pathlib\ndef test_change(): pathlib.Path({str(other)!r}).write_text('def test_new(): pass')\n"
    (tmp_path / "test_deadly.py").write_text(change + _DEADLY + _WELL)
    assert "no active workers" in _run(tmp_path)


def test_a_process_that_dies_before_all_have_collected_has_a_successor(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(_ONE_DIES_HAVING_COLLECTED)
    (tmp_path / "test_0.py").write_text(_OTHERS_COLLECT_SLOWLY + _WELL)
    for number in range(1, 4):
        (tmp_path / f"test_{number}.py").write_text(_WELL)
    told = _run(tmp_path)
    assert "4 passed" in told, told
