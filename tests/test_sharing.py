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
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=_ROOT, env=alone, capture_output=True, text=True, timeout=100, check=False
    ).stdout


@pytest.mark.parametrize("last", [_DEADLY, _DEADLY + _WELL], ids=["alone", "with another"])
def test_what_processes_die_of_is_told_once_and_all_else_runs(tmp_path: Path, last: str) -> None:
    (tmp_path / "test_0.py").write_text(_DEADLY + _WELL)
    for number in range(1, 6):
        (tmp_path / f"test_{number}.py").write_text(_WELL)
    (tmp_path / "test_last.py").write_text(last)
    told = _run(tmp_path)
    assert f"2 failed, {6 + last.count(_WELL)} passed" in told, told
