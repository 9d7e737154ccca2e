"""Records what a real Slurm prints, for the tests that need none: ``python -m tests.hpc.record_outputs``, by hand.

Each job is named after what it shows. What is recorded goes to a folder of the version: see ``data/README.md``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tenure.agent.slurm import squeue_json
from tenure.demo.hpc.slurm import SlurmCluster

DATA = Path(__file__).parent / "data"
_HOG = "python3 -c 'held = bytearray(300 * 1024 ** 2)'"
_REFUSED = {
    "unknown partition": ["--partition=nowhere"],
    "too much memory": ["--mem=9999999M"],
    "malformed memory": ["--mem=lots"],
    "malformed time": ["--time=soon"],
    "unknown option": ["--frobnicate"],
    "unknown constraint": ["--constraint=quantum"],
    "missing folder of script": ["/nowhere/script"],
}


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
    folder.chmod(0o755)
    (folder / "jobs").mkdir()
    try:
        with SlurmCluster(folder / "site") as slurm:
            _replies(slurm)
            _jobs(slurm, folder / "jobs")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _replies(slurm: SlurmCluster) -> None:
    told = {name: _sbatch(slurm, *options) for name, options in _REFUSED.items()}
    told["taken"] = _sbatch(slurm, "--hold")
    assert slurm.controller is not None
    slurm.controller.stop()
    told["no controller"] = _sbatch(slurm)
    slurm.start_controller()
    munge = slurm.site.socket
    munge.rename(munge.with_name("away"))
    told["no munge"] = _sbatch(slurm)
    munge.with_name("away").rename(munge)
    told["no configuration"] = _sbatch(slurm, environment={"SLURM_CONF": "/nowhere/slurm.conf"})
    _keep(slurm, "sbatch.json", json.dumps(told, indent=1) + "\n")


def _keep(slurm: SlurmCluster, name: str, told: str) -> None:
    """As it was told, but for the names of folders."""
    version = re.search(r"SLURM_VERSION\s*= (\d+\.\d+)", slurm.run("scontrol", "show", "config"))
    assert version is not None
    folder = DATA / f"slurm-{version[1]}"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(re.sub(r"\\?/tmp\\?/slurm-\w+", "/srv", told))


def abridged(printed: str) -> str:
    """What ``squeue --json`` printed: all of the first job, of the others what the adapter reads, which is a tenth of it."""
    told: dict[str, Any] = json.loads(printed)
    told["jobs"] = told["jobs"][:1] + [
        {name: value for name, value in job.items() if name in squeue_json.READ} for job in told["jobs"][1:]
    ]
    return json.dumps(told, indent=1) + "\n"


def _sbatch(slurm: SlurmCluster, *options: str, environment: dict[str, str] | None = None) -> dict[str, str | int]:
    done = subprocess.run(
        ["sbatch", "--parsable", *options], input="#!/bin/sh\ntrue\n", capture_output=True, text=True, check=False,
        cwd=slurm.folder, env=os.environ | slurm.environment | {"LC_ALL": "C"} | (environment or {}),
    )  # fmt: skip
    return {"status": done.returncode, "out": done.stdout, "error": done.stderr}


def _jobs(slurm: SlurmCluster, folder: Path) -> None:
    def sbatch(name: str, script: str, *options: str) -> str:
        return slurm.run(
            "sbatch", "--parsable", f"--job-name={name}", f"--comment=key-of-{name}", f"--chdir={folder}", "--time=10",
            *options, f"--wrap={script}", check=name != "refused",
        ).strip()  # fmt: skip

    def seen(job: str, *states: str) -> None:
        deadline = time.monotonic() + 100
        while (told := slurm.run("squeue", "-a", "-t", "all", "-h", "-o", "%T", "-j", job).strip()) not in states:
            assert time.monotonic() < deadline, (job, told, states)
            time.sleep(0.1)

    sbatch("refused", "true", "--mem=9999999M")
    completed = sbatch("completed", "true")
    exit_3 = sbatch("exit-3", "exit 3")
    sbatch("killed-by-signal", "kill -9 $$")
    sbatch("out-of-memory", _HOG, "--mem=30M")
    sbatch("out-of-memory-of-a-part", f"{_HOG}; exit 0", "--mem=30M")
    timeout = sbatch("timeout", "sleep 900")
    waiting = sbatch("cancelled-waiting", "true", "--hold")
    running = sbatch("cancelled-running", "sleep 900")
    sbatch("held", "true", "--hold")
    sbatch("begins-later", "true", "--begin=now+1hour")
    sbatch("dependency", "true", f"--dependency=afterok:{timeout}")
    sbatch("dependency-never", "true", f"--dependency=afterok:{exit_3}")
    sbatch("dependency-never-killed", "true", f"--dependency=afterok:{exit_3}", "--kill-on-invalid-dep=yes")
    sbatch("longer-than-allowed", "true", "--time=9:00:00")
    sbatch("running", "sleep 900")
    suspended = sbatch("suspended", "sleep 900")
    requeued = sbatch("requeued", "sleep 900", "--requeue")
    held_again = sbatch("requeued-and-held", "sleep 900", "--requeue")
    seen(timeout, "RUNNING")
    slurm.run("scontrol", "update", f"JobId={timeout}", "EndTime=now")
    slurm.run("scancel", waiting)
    for job in (running, suspended, requeued, held_again):
        seen(job, "RUNNING")
    slurm.run("scancel", running)
    slurm.run("scontrol", "suspend", suspended)
    slurm.run("scontrol", "requeue", requeued)
    slurm.run("scontrol", "requeuehold", held_again)
    requeued_for_another = sbatch(
        "preempted-and-requeued", "sleep 900", "--partition=scavenge", "--cpus-per-task=30", "--requeue"
    )
    preempted = sbatch("preempted", "sleep 900", "--partition=cheap", "--cpus-per-task=30", "--no-requeue")
    node_failed = sbatch("node-failed", "sleep 900", "--partition=frail", "--no-requeue")
    requeued_by_node = sbatch("node-failed-and-requeued", "sleep 900", "--partition=frail", "--requeue")
    boot_failed = sbatch("boot-failed", "sleep 900", "--no-requeue")
    for job in (requeued_for_another, preempted, node_failed, requeued_by_node, boot_failed):
        seen(job, "RUNNING")
    _boot_fails(slurm, boot_failed)
    sbatch("urgent", "sleep 900", "--partition=urgent", "--cpus-per-task=60")
    deadline = sbatch(
        "deadline", "true", "--partition=cheap", "--cpus-per-task=60", "--time=1", "--deadline=now+65seconds"
    )
    slurm.run("scontrol", "update", f"NodeName={slurm.site.node('frail')}", "State=DOWN", "Reason=test")
    seen(preempted, "PREEMPTED")
    seen(node_failed, "NODE_FAIL")
    seen(boot_failed, "BOOT_FAIL")
    seen(timeout, "TIMEOUT")
    seen(deadline, "DEADLINE")
    seen(completed, "COMPLETED")
    stubborn = sbatch("completing", "trap '' TERM; while true; do sleep 1; done")
    seen(stubborn, "RUNNING")
    time.sleep(1)
    slurm.run("scancel", stubborn)
    seen(stubborn, "COMPLETING")
    printed = slurm.run("squeue", *squeue_json.ARGUMENTS)
    _keep(slurm, "squeue.json", abridged(printed))
    seen(stubborn, "CANCELLED")
    _keep(slurm, "completions.log", slurm.site.completions.read_text())
    print({job["name"]: (job["job_state"], job["state_reason"]) for job in json.loads(printed)["jobs"]})


def _boot_fails(slurm: SlurmCluster, job: str) -> None:
    """Say what a program of the site says whose node does not start as the job wanted it: there is no command for it."""
    (library,) = Path("/usr/lib").glob("*/slurm*/libslurmfull.so")
    reconfig_fail = 1 << 17
    say = (
        f"import ctypes; slurm = ctypes.CDLL({str(library)!r}, mode=ctypes.RTLD_GLOBAL); slurm.slurm_init(None); "
        f"slurm.slurm_requeue(ctypes.c_uint32({job}), ctypes.c_uint32({reconfig_fail}))"
    )
    subprocess.run([sys.executable, "-c", say], env=os.environ | slurm.environment, check=True)


if __name__ == "__main__":
    main()
