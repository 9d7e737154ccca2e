"""What ``sbatch`` was recorded to say, and what is submitted when its answer was lost."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from tenure.agent.scheduler import JobSpec, Rejected, SchedulerUnavailable
from tenure.agent.slurm.command import Programs
from tenure.agent.slurm.refusals import REJECTED, Outcome, read_reply
from tenure.agent.slurm.settings import SlurmSettings
from tenure.agent.slurm.submission import options, submit, withdraw
from tenure.remote.model.contracts import Placement
from tenure.remote.model.fields import ResourceShape
from tests.waiting import until

_SAID = json.loads((Path(__file__).parents[1] / "hpc" / "data" / "slurm-22.05" / "sbatch.json").read_text())
_MEANT = {
    "unknown partition": (Outcome.REFUSED, "Invalid partition name specified"),
    "too much memory": (Outcome.REFUSED, "Requested node configuration is not available"),
    "malformed memory": (Outcome.REFUSED, "Invalid --mem specification"),
    "malformed time": (Outcome.REFUSED, "Invalid --time specification"),
    "unknown option": (Outcome.REFUSED, "unrecognized option '--frobnicate'"),
    "unknown constraint": (Outcome.REFUSED, "Invalid feature specification"),
    "missing folder of script": (Outcome.REFUSED, "Unable to open file /nowhere/script"),
    "taken": (Outcome.TAKEN, ""),
    "no controller": (Outcome.NOT_TAKEN, "Unable to contact slurm controller (connect failure)"),
    "no munge": (Outcome.NOT_TAKEN, "Protocol authentication error"),
    "no configuration": (Outcome.NOT_TAKEN, None),
}


def test_all_recorded_answers_are_judged():
    assert set(_SAID) == set(_MEANT)


@pytest.mark.parametrize("name", _MEANT)
def test_what_sbatch_said_is_told_apart(name: str):
    reply = read_reply(_SAID[name]["out"], _SAID[name]["error"])
    outcome, why = _MEANT[name]
    assert reply.outcome is outcome
    if why is not None:
        assert reply.why == why
    if outcome is Outcome.TAKEN:
        assert reply.job_id == _SAID[name]["out"].strip()


@pytest.mark.parametrize(
    "error",
    ["", "Killed", "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
     "sbatch: error: Batch job submission failed: Zero Bytes were transmitted or received",
     "sbatch: error: Batch job submission failed: Unexpected message received",
     "sbatch: error: Slurm temporarily unable to accept job, sleeping and retrying.",
     "sbatch: error: Slurm job queue full, sleeping and retrying."],
)  # fmt: skip
def test_nobody_knows_what_became_of_a_request_without_an_answer(error: str):
    assert read_reply("", error).outcome is Outcome.UNKNOWN


def test_a_number_counts_whatever_else_was_said():
    assert read_reply("12;cluster\n", "sbatch: warning: something timed out").job_id == "12"
    assert read_reply("lua plugin says hello\n12\n", "").job_id == "12"


def test_a_limit_that_passes_may_be_tried_again_and_a_mistake_not():
    limit = "Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
    passing = read_reply("", f"sbatch: error: Batch job submission failed: {limit}").failure
    mistake = read_reply("", _SAID["unknown partition"]["error"]).failure
    assert (passing.code, passing.retryable, mistake.code, mistake.retryable) == (REJECTED, True, REJECTED, False)


def test_the_job_is_told_in_full(tmp_path: Path):
    job = _job(tmp_path, seconds=61, placement=Placement(partition="long", account="lab", qos="high"), B="2", A="1")
    told = options(job, SlurmSettings(options=("--constraint=avx512",)))
    for each in (
        "--parsable", "--job-name=key", "--comment=key", f"--chdir={tmp_path}", f"--output={tmp_path}/stdout",
        f"--error={tmp_path}/stderr", "--cpus-per-task=2", "--mem=64M", "--time=2", "--partition=long", "--account=lab",
        "--qos=high", "--export=A,B", "--no-requeue", "--kill-on-invalid-dep=yes", "--constraint=avx512",
    ):  # fmt: skip
        assert each in told
    plain = options(_job(tmp_path), SlurmSettings(requeue=True))
    assert "--export=NIL" in plain
    assert "--requeue" in plain
    assert not any(option.startswith(("--partition", "--account", "--qos")) for option in plain)


class Site:
    """A folder with an ``sbatch`` that does what a test says, and writes down each time it is called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.job = _job(folder)
        self.settings = SlurmSettings(programs=folder / "bin", command_seconds=10, settle_seconds=0)
        self.known: dict[str, str] = {}
        (folder / "bin").mkdir()

    def sbatch(self, does: str) -> None:
        path = self.folder / "bin" / "sbatch"
        path.write_text(f"#!/bin/sh\necho called >>{self.folder}/calls\n{does}\n")
        path.chmod(0o755)

    def submit(self, job_of_key: Callable[[str], str | None] | None = None, **changed: object) -> str:
        settings = self.settings.model_copy(update=changed)
        programs = Programs(settings.programs, settings.command_seconds, 1 << 20)
        return submit(self.job, programs, settings, job_of_key or self.known.get)

    def withdraw(self, job_of_key: Callable[[str], str | None] | None = None) -> str | None:
        return withdraw(self.job, self.settings, job_of_key or self.known.get)

    @property
    def calls(self) -> int:
        return (self.folder / "calls").read_text().count("called") if (self.folder / "calls").exists() else 0


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_a_second_submission_of_the_same_execution_gives_the_same_job(site: Site):
    site.sbatch("echo 7")
    assert [site.submit(), site.submit()] == ["7", "7"]
    assert site.calls == 1


def test_a_refusal_stays_a_refusal(site: Site):
    site.sbatch("echo 'sbatch: error: Batch job submission failed: Invalid account' >&2; exit 1")
    for _ in range(2):
        with pytest.raises(Rejected, match="Invalid account"):
            site.submit()
    assert site.calls == 1


def test_a_job_that_is_there_is_no_refused_one_whatever_sbatch_said(site: Site):
    site.sbatch("echo 'sbatch: error: Batch job submission failed: Unspecified error' >&2; exit 1")
    site.known = {"key": "15"}
    assert site.submit() == "15"
    site.known = {}
    with pytest.raises(Rejected, match="Unspecified error"):
        site.submit()


def test_a_refusal_counts_once_slurm_has_said_that_it_has_no_such_job(site: Site):
    site.sbatch("echo 'sbatch: error: Batch job submission failed: Unspecified error' >&2; exit 1")

    def silent(_: str) -> str | None:
        raise SchedulerUnavailable("squeue gave no answer")

    with pytest.raises(SchedulerUnavailable, match="squeue"):
        site.submit(job_of_key=silent)
    with pytest.raises(Rejected, match="Unspecified error"):
        site.submit()
    assert site.calls == 1


def test_what_was_not_taken_is_submitted_again(site: Site):
    site.sbatch("echo 'Batch job submission failed: Unable to contact slurm controller (connect failure)' >&2; exit 1")
    with pytest.raises(SchedulerUnavailable, match="Unable to contact"):
        site.submit()
    site.sbatch("echo 8")
    assert site.submit() == "8"


def test_a_job_whose_number_was_lost_is_found_and_not_submitted_again(site: Site):
    site.sbatch("exec sleep 60")
    with pytest.raises(SchedulerUnavailable):
        site.submit(command_seconds=0.2)
    site.known = {"key": "9"}
    assert site.submit() == "9"
    assert site.calls == 1


def test_a_job_without_an_answer_is_looked_for_twice_before_it_is_submitted_again(site: Site):
    site.sbatch("echo 'Socket timed out on send/recv operation' >&2; exit 1")
    with pytest.raises(SchedulerUnavailable):
        site.submit()
    site.sbatch("echo 10")

    asked = []
    assert site.submit(job_of_key=asked.append) == "10"
    assert (asked, site.calls) == (["key", "key"], 2)


def test_a_job_that_appears_late_is_found(site: Site):
    site.sbatch("exit 1")
    with pytest.raises(SchedulerUnavailable):
        site.submit()
    answers = iter((None, "10"))

    assert site.submit(job_of_key=lambda _: next(answers)) == "10"
    assert site.calls == 1


def test_a_job_that_slurm_has_forgotten_is_known_by_what_it_left_in_the_folder(site: Site):
    site.sbatch("cat >$0.given; exit 1")
    with pytest.raises(SchedulerUnavailable):
        site.submit()
    # The job runs after all, and Slurm forgets it.
    subprocess.run(
        ["sh", site.folder / "bin" / "sbatch.given"], env={"SLURM_JOB_ID": "11", "PATH": os.defpath}, check=True
    )

    assert site.submit(job_of_key=lambda _: None) == "11"
    assert site.calls == 1


def test_nothing_is_submitted_while_the_scheduler_cannot_say_whether_it_has_the_job(site: Site):
    site.sbatch("exit 1")
    with pytest.raises(SchedulerUnavailable):
        site.submit()

    def silent(_: str) -> str | None:
        raise SchedulerUnavailable("squeue gave no answer")

    with pytest.raises(SchedulerUnavailable, match="squeue"):
        site.submit(job_of_key=silent)
    assert site.calls == 1


def _kill_an_agent_while_sbatch_runs(site: Site) -> None:
    """It answers, with job 11, once there is a file ``go``."""
    site.sbatch(f"while [ ! -e {site.folder}/go ]; do sleep 0.05; done; echo 11")
    agent = subprocess.Popen([sys.executable, "-c", _agent(site)])
    until(lambda: site.calls == 1)
    agent.kill()
    agent.wait()


def test_an_sbatch_that_outlives_its_agent_is_waited_for(site: Site):
    _kill_an_agent_while_sbatch_runs(site)
    with pytest.raises(SchedulerUnavailable, match="under way"):
        site.submit(command_seconds=0.2)
    (site.folder / "go").touch()

    assert site.submit() == "11"
    assert site.calls == 1


def test_what_an_sbatch_that_outlives_its_agent_submits_is_not_withdrawn_before_it_is_known(site: Site):
    _kill_an_agent_while_sbatch_runs(site)
    with pytest.raises(SchedulerUnavailable, match="under way"):
        site.withdraw()
    (site.folder / "go").touch()

    assert until(lambda: _once_known(site)) == "11"
    assert site.calls == 1


def test_what_is_withdrawn_after_its_answer_was_lost_is_looked_for_twice(site: Site):
    site.sbatch("echo 'Socket timed out on send/recv operation' >&2; exit 1")
    with pytest.raises(SchedulerUnavailable):
        site.submit()
    answers = iter((None, "10"))
    assert site.withdraw(lambda _: next(answers)) == "10"
    asked: list[str] = []
    assert site.withdraw(asked.append) is None
    assert asked == ["key", "key"]


def test_what_is_withdrawn_where_slurm_cannot_say_whether_it_has_the_job_stays_open(site: Site):
    def silent(_: str) -> str | None:
        raise SchedulerUnavailable("squeue gave no answer")

    for says in ("exit 1", "echo 'Batch job submission failed: Unable to contact slurm controller' >&2; exit 1"):
        site.sbatch(says)
        with pytest.raises(SchedulerUnavailable):
            site.submit()
        with pytest.raises(SchedulerUnavailable, match="squeue"):
            site.withdraw(silent)


def test_a_job_that_has_begun_and_was_forgotten_is_withdrawn_by_its_number(site: Site):
    (site.folder / "sbatch.begun").write_text("12\n")
    assert site.withdraw() == "12"


def test_a_lock_that_is_held_elsewhere_is_not_taken_for_ours(site: Site):
    site.sbatch("echo 12")
    with (site.folder / "sbatch.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(SchedulerUnavailable, match="under way"):
            site.submit(command_seconds=0.1)
    assert site.submit() == "12"


def test_what_is_submitted_runs_the_script_and_asks_for_nothing_by_itself(site: Site):
    site.job.script.write_text("#!/bin/sh\n#SBATCH --array=1-1000\n")
    site.sbatch(f"cat >{site.folder}/given; env >{site.folder}/environment; echo 13")
    site.submit()
    given = (site.folder / "given").read_text().splitlines()
    assert given[0] == "#!/bin/sh"
    assert given[-1] == f"exec {site.job.script}"
    assert not any(line.startswith("#SBATCH") for line in given)


def test_variables_that_are_options_in_disguise_are_kept_from_slurms_programs(site: Site, monkeypatch):
    for name in ("SBATCH_PARTITION", "SLURM_JOB_ID", "SQUEUE_STATES", "SCANCEL_NAME", "SLURM_CONF"):
        monkeypatch.setenv(name, "meddling")
    site.sbatch(f"env >{site.folder}/environment; echo 14")
    site.submit()
    told = dict(line.partition("=")[::2] for line in (site.folder / "environment").read_text().splitlines())
    assert {name: value for name, value in told.items() if value == "meddling"} == {"SLURM_CONF": "meddling"}
    assert told["LC_ALL"] == "C"


def _once_known(site: Site) -> str | None:
    try:
        return site.withdraw()
    except SchedulerUnavailable:
        return None


def _agent(site: Site) -> str:
    return textwrap.dedent(f"""
        from pathlib import Path
        from tests.agent.test_slurm_submission import Site
        site = Site.__new__(Site)
        site.__dict__.update(folder=Path({str(site.folder)!r}), known={{}})
        from tests.agent import test_slurm_submission as here
        site.job = here._job(site.folder)
        site.settings = here.SlurmSettings(programs=site.folder / "bin", command_seconds=60, settle_seconds=0)
        site.submit()
    """)


def _job(folder: Path, *, seconds: int = 60, placement: Placement | None = None, **environment: str) -> JobSpec:
    script = folder / "script"
    if not script.exists():
        script.write_text("#!/bin/sh\ntrue\n")
        script.chmod(0o755)
    shape = ResourceShape(cpu=2, memory_mib=64, walltime_seconds=seconds)
    return JobSpec("key", script, folder, placement or Placement(), shape, environment)
