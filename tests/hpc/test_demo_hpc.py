"""``tenure demo --hpc`` from outside: it keeps its promises, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from tenure.demo.hpc.slurm import SlurmCluster

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(400, method="signal")
def test_the_demonstration_on_slurm_keeps_its_promises_and_leaves_nothing_behind(
    slurm: SlurmCluster, short_folder: Path, tell: Callable[[str], None]
):
    temporary = short_folder / "t"
    temporary.mkdir()
    temporary.chmod(0o755)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "SLURM_"))}
    environment |= {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    begun = time.monotonic()

    run = subprocess.run(
        [sys.executable, "-m", "tenure.cli", "demo", "--hpc", "--json"], env=environment, capture_output=True, text=True,
        timeout=380, check=False, cwd=short_folder,
    )  # fmt: skip

    assert run.returncode == 0, run.stdout + run.stderr
    told = json.loads(run.stdout)
    assert told["kept"]
    assert told["verify"]["clean"]
    assert len(told["promises"]) == 8 + slurm.limits_memory
    assert {each["projection_state"] for each in told["submissions"].values()} == {"succeeded", "failed"}
    assert list(temporary.iterdir()) == []
    left = [p.info for p in psutil.process_iter(["cmdline"]) if str(temporary) in " ".join(p.info["cmdline"] or ())]
    assert left == []
    tell(f"the demonstration on Slurm took {time.monotonic() - begun:.0f} s")
