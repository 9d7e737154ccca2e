"""Schedulers of AiiDA that submit once, whatever happens (entry points ``tenure.slurm`` and ``tenure.direct``).

AiiDA's worker submits, then writes the job's number down: one that dies in between submits again. Here the machine that
takes the job keeps the number, under a lock, in the job's folder; and where even that was lost, Slurm is asked first whether
it has the job. They serve every CalcJob, not only ours.
"""

from __future__ import annotations

import shlex
from importlib import resources

from aiida.engine import ExitCode
from aiida.schedulers.plugins.direct import DirectScheduler
from aiida.schedulers.plugins.slurm import SlurmScheduler

from tenure.agent.aiida import codes
from tenure.agent.slurm.refusals import Outcome, read_reply

_HELD = 75
# Without accounting, Slurm itself tells for a while how a job ended. The header is sacct's, so that AiiDA reads both.
_HOW_IT_ENDED = (
    "kept=$(sacct --format=JobID,State,ExitCode,Reason,Start,End,Elapsed,MaxRSS,NodeList --parsable --duplicates"
    " --jobs={job} 2>/dev/null); if [ $(printf '%s\\n' \"$kept\" | wc --lines) -ge 2 ]; then printf '%s\\n' \"$kept\";"
    " else echo 'JobID|State|Reason|Start|End|'; SLURM_TIME_FORMAT=standard squeue --noheader --all --states=all"
    " --jobs={job} --format='%i|%T|%r|%S|%e|'; fi"
)
#: Ends that AiiDA has no exit code for, and would take for success.
_ENDED = frozenset({"CANCELLED", "DEADLINE", "PREEMPTED", "BOOT_FAIL", "REVOKED"})


def command(part: str, script: str) -> str:
    """The line of shell that submits ``script`` of the current folder once; ``part`` names the way to submit."""
    here = resources.files("tenure.agent.aiida")
    program = "\n".join((here / name).read_text(encoding="utf-8") for name in ("once.sh", f"once_{part}.sh"))
    return f"bash -c {shlex.quote(program)} tenure {shlex.quote(script)}"


class OnceSlurmScheduler(SlurmScheduler):
    """AiiDA's Slurm, submitting once; a refusal ends the process at once, and each end from outside is told."""

    def submit_job(self, working_directory: str, filename: str) -> str | ExitCode:
        """Submit the script, or return the number under which it was submitted before."""
        status, stdout, stderr = self.transport.exec_command_wait(command("slurm", filename), workdir=working_directory)
        if status not in (0, _HELD) and (reply := read_reply("", stderr)).outcome is Outcome.REFUSED:
            return ExitCode(codes.REJECTED, reply.failure.message)
        return self._parse_submit_output(status, stdout, stderr)

    def _get_detailed_job_info_command(self, job_id: str) -> str:
        return _HOW_IT_ENDED.format(job=shlex.quote(job_id))

    def parse_output(
        self,
        detailed_job_info: dict[str, str | int] | None = None,
        stdout: str | None = None,
        stderr: str | None = None,
    ) -> ExitCode | None:
        """What Slurm says of how the job ended, as an exit code; None where the script's own counts."""
        lines = str((detailed_job_info or {}).get("stdout", "")).splitlines()
        if len(lines) < 2:
            return super().parse_output(None, stdout, stderr)
        told = dict(zip(lines[0].split("|"), lines[1].split("|"), strict=False))
        state = told.get("State", "").partition(" ")[0]
        if state in _ENDED:
            return ExitCode(codes.ENDED_BY_SCHEDULER, f"The scheduler says: {state}.")
        return super().parse_output(detailed_job_info, stdout, stderr)


class OnceDirectScheduler(DirectScheduler):
    """AiiDA's own machine, starting each job once."""

    def submit_job(self, working_directory: str, filename: str) -> str | ExitCode:
        """Start the script, or return the number of the process that it was started as before."""
        return self._parse_submit_output(
            *self.transport.exec_command_wait(command("direct", filename), workdir=working_directory)
        )
