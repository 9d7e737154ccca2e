"""What the how-to says works as it says, and the unit is one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.test_with_the_server import AgentProcess
from tests.worker.serving import ServerProcess

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "connect-a-cluster.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_commands_of_the_how_to_connect_a_node(migrated_database: str, tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "tenure").write_text(f'#!/bin/sh\nexec {sys.executable} -m tenure.cli "$@"\n')
    (programs / "tenure").chmod(0o755)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "TENURE_DSN": migrated_database, "LANG": "C.UTF-8",
    }  # fmt: skip

    def run(block: str) -> str:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block], env=environment, cwd=tmp_path, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, block + done.stdout + done.stderr
        return re.sub(r"\s+", " ", done.stdout)

    define, check, started, submit = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    server = ServerProcess(migrated_database, tmp_path)
    server.start()
    server.wait()
    run(define)
    agent = AgentProcess(tmp_path, server.url, (tmp_path / "agent.token").read_text().strip())
    agent.config.write_text(agent.config.read_text().replace('"node-1"', '"cluster-1"'))
    assert (tmp_path / "agent.token").stat().st_mode & 0o077 == 0
    try:
        assert "wrong" not in run(check)
        agent.start()
        assert "cluster-1" in run(started)
        told = run(submit)
        assert "succeeded" in told
        assert "completed" in told
        (numbers,) = (tmp_path / "state" / "results").rglob("numbers")
        assert numbers.read_text() == "1\n2\n"
    finally:
        agent.end()
        server.end()


def test_the_unit_can_be_read_by_systemd_and_leaves_jobs_alone() -> None:
    unit = ROOT / "deploy" / "tenure-agent@.service"
    assert "\nKillMode=process\n" in unit.read_text()
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    looked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    complaints = [
        line for line in looked.stderr.splitlines() if "tenure-agent" in line and "is not executable" not in line
    ]
    assert complaints == []


def test_the_how_to_names_files_that_are_there() -> None:
    for name in re.findall(r"\]\(([^)#]+)\)", PAGE):
        assert (ROOT / "docs" / "how-to" / name).exists(), name
