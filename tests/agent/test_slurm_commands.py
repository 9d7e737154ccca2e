"""A program of Slurm is bounded in time and output, and its silence is no answer."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tenure.agent.scheduler import Phase, SchedulerUnavailable
from tenure.agent.slurm import SlurmScheduler, SlurmSettings, accounting
from tenure.agent.slurm.command import Programs


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    return tmp_path / "bin"


def test_what_takes_too_long_is_ended_with_all_that_it_began(bin_folder: Path):
    _program(bin_folder, "squeue", "sleep 300 & sleep 300")
    before = time.monotonic()
    with pytest.raises(SchedulerUnavailable, match="no answer within"):
        Programs(bin_folder, 0.3, 1 << 20).ask("squeue")
    assert time.monotonic() - before < 20, "it also waited for the pipe, which the first sleep holds"


def test_what_prints_too_much_is_ended(bin_folder: Path):
    _program(bin_folder, "squeue", "yes")
    with pytest.raises(SchedulerUnavailable, match="more than 1 MiB"):
        Programs(bin_folder, 30, 1 << 20).ask("squeue")


def test_what_fails_tells_why_in_one_line(bin_folder: Path):
    _program(bin_folder, "squeue", "printf 'slurm_load_jobs error:\\n  Unable to contact\\n' >&2; exit 1")
    with pytest.raises(SchedulerUnavailable, match="squeue failed: slurm_load_jobs error: Unable to contact"):
        Programs(bin_folder, 30, 1 << 20).ask("squeue")


def test_a_node_without_slurm_is_told_so(bin_folder: Path):
    with pytest.raises(SchedulerUnavailable, match="sbatch is not on this node's PATH"):
        SlurmScheduler(SlurmSettings(programs=bin_folder)).open()


def test_a_cancel_of_what_has_ended_is_no_error_and_any_other_failure_is_one(bin_folder: Path):
    scheduler = SlurmScheduler(SlurmSettings(programs=bin_folder))
    _program(
        bin_folder,
        "scancel",
        "echo 'scancel: error: Kill job error on job id 7: Job/step already completing or completed' >&2; exit 60",
    )
    scheduler.cancel("7")
    _program(bin_folder, "scancel", "echo 'scancel: error: Kill job error on job id 7: Socket timed out' >&2; exit 1")
    with pytest.raises(SchedulerUnavailable, match="Socket timed out"):
        scheduler.cancel("7")


def test_a_row_of_accounting_that_nobody_closed_is_no_answer_and_an_ended_one_is(bin_folder: Path):
    told = Path(__file__).parents[1] / "hpc" / "data" / "slurm-22.05" / "sacct.txt"
    _program(
        bin_folder, "sacct", f'echo "$@" >{bin_folder}/asked; echo $SLURM_TIME_FORMAT >>{bin_folder}/asked; cat {told}'
    )
    programs = Programs(bin_folder, 30, 1 << 20)

    found = {record.name for record in accounting.ended(programs, ["3", "16"], days=3)}

    assert {"exit-3", "node-failed"} <= found
    assert not {"running", "requeued", "suspended", "longer-than-allowed"} & found
    asked = (bin_folder / "asked").read_text()
    assert "-X -P -D --federation --noheader" in asked
    assert "--jobs=16,3" in asked
    assert asked.endswith("%s\n")
    assert {record.name for record in accounting.of_keys(programs, ["running"], days=3)} >= {"running", "requeued"}


def test_where_accounting_is_away_what_the_controller_knows_is_told_and_the_rest_is_unknown(bin_folder: Path):
    told = {"jobs": [{"job_id": 1, "name": "a", "job_state": "RUNNING", "user_id": os.geteuid()}], "errors": []}
    _program(bin_folder, "squeue", f"echo '{json.dumps(told)}'")
    _program(bin_folder, "scontrol", "echo 'AccountingStorageType   = accounting_storage/slurmdbd'")
    _program(
        bin_folder, "sacct", "echo 'sacct: error: Problem talking to the database: Connection refused' >&2; exit 1"
    )
    for name in ("sbatch", "scancel"):
        _program(bin_folder, name, "exit 1")
    scheduler = SlurmScheduler(SlurmSettings(programs=bin_folder))
    scheduler.open()

    assert {number: each.phase for number, each in scheduler.poll(["1", "2"]).items()} == {"1": Phase.RUNNING}
    with pytest.raises(SchedulerUnavailable, match="talking to the database"):
        scheduler.find(["b"])  # whether there is such a job cannot be said: none may be submitted


def _program(folder: Path, name: str, does: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{does}\n")
    (folder / name).chmod(0o755)
