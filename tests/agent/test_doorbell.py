"""The bell that a site's Prolog and Epilog ring."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tenure.agent.doorbell import Doorbell, script
from tenure.agent.looking import look
from tests.agent.border import Border
from tests.agent.border import script as job_script
from tests.agent.conftest import RunAgent, settings_for
from tests.agent.making import Moody
from tests.agent.test_commands import run


def ring(bell: Path, folder: Path, user: int | None = None, **environment: str) -> int:
    """Run the site's script as Slurm does, which kills what is left in its group; its exit code."""
    program = folder / "ring"
    program.write_text(script(bell, os.geteuid()))
    program.chmod(0o755)
    job = {"SLURM_JOB_UID": str(os.geteuid() if user is None else user), **environment}
    with subprocess.Popen([program], env=job, start_new_session=True, stdout=subprocess.PIPE) as process:
        code = process.wait(60)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return code


def heard(doorbell: Doorbell) -> bool:
    deadline = time.monotonic() + 30  # whoever rings does not wait for it
    while not (rung := doorbell.rung()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return rung


def test_each_ring_is_heard_once(tmp_path: Path) -> None:
    bell = tmp_path / "it's a [bell] of $HOME"
    doorbell = Doorbell(bell)
    doorbell.hang()
    assert not doorbell.rung()
    for _ in range(20):
        assert ring(bell, tmp_path) == 0
        assert heard(doorbell)
        assert not doorbell.rung()


def test_a_job_of_somebody_else_does_not_ring(tmp_path: Path) -> None:
    bell = tmp_path / "bell"
    doorbell = Doorbell(bell)
    doorbell.hang()
    assert ring(bell, tmp_path, user=os.geteuid() + 1) == 0
    assert ring(bell, tmp_path) == 0
    assert heard(doorbell)
    assert not doorbell.rung(), "one ring, not two"


def test_who_rings_fails_at_nothing_and_leaves_nothing_behind(tmp_path: Path) -> None:
    assert ring(tmp_path / "nowhere" / "bell", tmp_path) == 0
    assert ring(tmp_path / "missing", tmp_path) == 0
    os.mkfifo(tmp_path / "fifo")  # where an older way would wait for a reader
    assert ring(tmp_path / "fifo", tmp_path) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "ring"]


def test_a_bell_that_is_taken_away_is_none_and_one_that_comes_rings(tmp_path: Path) -> None:
    bell = tmp_path / "bell"
    doorbell = Doorbell(bell)
    doorbell.hang()
    bell.unlink()
    assert not doorbell.rung()
    bell.touch()
    assert doorbell.rung()


def test_a_ring_is_followed_by_a_question_however_long_the_interval_is(
    border: Border, running: RunAgent, tmp_path: Path
) -> None:
    seldom = {"fastest_seconds": 3600, "slowest_seconds": 3600, "rung_seconds": 0.2}
    settings = settings_for(tmp_path, border.url, watch=seldom)
    moody = Moody(settings.folder / "local")
    begun, go = tmp_path / "begun", tmp_path / "go"
    execution = border.submit(job_script(tmp_path, f"touch {begun}; while [ ! -e {go} ]; do sleep 0.05; done"))
    with running(settings, moody):
        border.wait(begun.exists, "it runs")
        border.wait(lambda: len(moody.polls) == 1, "it was asked after once, when it was submitted")
        assert ring(settings.bell, tmp_path) == 0
        border.wait(lambda: "running" in border.states(execution), "the ring was heard")
        go.touch()
        border.wait(
            lambda: ring(settings.bell, tmp_path) == 0 and border.states(execution)[-1] == "completed", "its end"
        )
        border.wait(lambda: look(settings.folder).last_ring is not None, "the ring is kept")
    assert border.states(execution) == ["accepted", "running", "completed"]


def test_without_a_bell_an_agent_works_as_ever(border: Border, running: RunAgent, tmp_path: Path) -> None:
    watch = {"fastest_seconds": 0.05, "slowest_seconds": 1.0, "bell": str(tmp_path / "nowhere" / "bell")}
    settings = settings_for(tmp_path, border.url, watch=watch)
    execution = border.submit(job_script(tmp_path, "true"))
    with running(settings):
        border.wait_for_end(execution)
    assert border.states(execution) == ["accepted", "running", "completed"]
    assert not (tmp_path / "nowhere").exists()


def test_the_command_prints_what_a_site_puts_into_its_prolog(tmp_path: Path) -> None:
    folder = tmp_path / ("a long name " * 12)
    folder.mkdir()
    code, out, _ = run("bell", "--node", "n", "--state-folder", str(folder))
    assert (code, out) == (0, script(folder / "bell", os.geteuid()))
    config = tmp_path / "agent.toml"
    config.write_text(f'node = "n"\nkind = "aiida"\nstate_folder = "{folder}"\n[watch]\nbell = "{tmp_path}/run/bell"\n')
    code, out, _ = run("bell", "--config", str(config), "--json")
    assert code == 0
    assert json.loads(out) == {"bell": f"{tmp_path}/run/bell", "script": script(tmp_path / "run/bell", os.geteuid())}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give a folder to another user")
def test_the_script_is_for_the_jobs_of_the_user_to_whom_the_state_folder_belongs(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, -1)
    assert '"$SLURM_JOB_UID" = 12345 ]' in run("bell", "--node", "n", "--state-folder", str(tmp_path))[1]
