"""The tutorial about a first workflow is true: its file and its commands, as they stand, do what it says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "tutorial" / "first-workflow.md"


@pytest.mark.slow
def test_the_commands_of_the_tutorial_do_what_it_says(migrated_database: str, tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (module,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "orders.py").write_text(module, encoding="utf-8")
    home = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = home | {"TENURE_DSN": migrated_database, "PATH": path, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}"}
    told: list[str] = []

    for command in commands:
        script = command.replace("FX-1T8Z", run) if (run := _run_of(told)) else command
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, (script, done.stdout + done.stderr)
        told.append(re.sub(r"\s+", " ", done.stdout))

    _, _, _, waits, graph, _, gone, again, end = told
    assert "approval" in waits
    assert "reserve" in graph and "check" in graph
    assert "The worker is gone." in gone
    assert "Step 'ship'" in again and "lease" in again
    assert "COMPLETED" in end
    assert "a customer of old" in end
    assert end.count("reserve succeeded") == 1
    assert "rows and facts tell the same story" in end


def _run_of(told: list[str]) -> str | None:
    found = re.search(r"\bFX-\w+", " ".join(told))
    return found[0] if found is not None else None
