"""``sbatch``, once for each execution, whatever is killed when.

An ``sbatch`` goes on when the agent that started it is killed. Therefore it holds a lock in the execution's folder for as
long as it runs, and writes its answer into files there: a later agent waits for it and reads what it said. Where the answer
is lost (it was killed, or the controller did not answer it), the job may still appear a little later; it is looked for, and
looked for again after a while, before another one is submitted or a canceled one is given up. A job that begins says so in
the folder, too: it is found even when Slurm has forgotten it.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tenure.agent.scheduler import JobSpec, Rejected, SchedulerUnavailable
from tenure.agent.slurm.command import Programs, end
from tenure.agent.slurm.refusals import Outcome, Reply, read_reply
from tenure.agent.slurm.settings import SlurmSettings

_LOCK, _OUT, _ERROR, _BEGUN = "sbatch.lock", "sbatch.out", "sbatch.err", "sbatch.begun"
_LOOK_AGAIN = 0.05
_NO_LOCKS = (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK)


def submit(job: JobSpec, programs: Programs, settings: SlurmSettings, job_of_key: Callable[[str], str | None]) -> str:
    """The number of the job, which is submitted unless it is there. Raises Rejected, SchedulerUnavailable.

    ``job_of_key`` asks Slurm whether it knows a job of this key.
    """
    with _lock(job.folder / _LOCK, settings.command_seconds) as lock:
        earlier = _reply(job.folder)
        if earlier is not None and earlier.outcome is Outcome.UNKNOWN:
            found = _found(job, job_of_key, settings.settle_seconds)
            if found is not None:
                return found
        if earlier is None or earlier.outcome in (Outcome.UNKNOWN, Outcome.NOT_TAKEN):
            _sbatch(job, programs, settings, lock)
            earlier = _reply(job.folder)
    if earlier is None or earlier.outcome in (Outcome.UNKNOWN, Outcome.NOT_TAKEN):
        raise SchedulerUnavailable(f"sbatch: {earlier.why if earlier is not None else 'no answer'}")
    if earlier.outcome is Outcome.REFUSED:
        # Words that nobody foresaw may be the client's own, after the controller had taken the job.
        found = job_of_key(job.key) or _begun(job.folder)
        if found is None:
            raise Rejected(earlier.failure)
        return found
    return earlier.job_id


def withdraw(job: JobSpec, settings: SlurmSettings, job_of_key: Callable[[str], str | None]) -> str | None:
    """The number of the job, if an ``sbatch`` for it has made one; None once it is known that none did, and none is under way.

    Raises SchedulerUnavailable until then. It does not wait for an ``sbatch``: what is to end keeps nothing else waiting.
    """
    with _lock(job.folder / _LOCK, 0.0):
        reply = _reply(job.folder)
        if reply is not None and reply.outcome is Outcome.TAKEN:
            return reply.job_id
        settle_seconds = 0.0 if reply is not None and reply.outcome is Outcome.NOT_TAKEN else settings.settle_seconds
        return _found(job, job_of_key, settle_seconds)


def options(job: JobSpec, settings: SlurmSettings) -> list[str]:
    """What ``sbatch`` is told of the job."""
    placement = {
        "partition": job.placement.partition, "account": job.placement.account, "qos": job.placement.qos,
    }  # fmt: skip
    return [
        "--parsable",
        f"--job-name={job.key}",
        f"--comment={job.key}",
        f"--chdir={job.folder}",
        f"--output={job.folder / 'stdout'}",
        f"--error={job.folder / 'stderr'}",
        "--input=/dev/null",
        "--nodes=1",
        "--ntasks=1",
        f"--cpus-per-task={job.resources.cpu}",
        f"--mem={job.resources.memory_mib}M",
        # Slurm counts in minutes; 0 would mean without end.
        f"--time={-(-job.resources.walltime_seconds // 60)}",
        *(f"--{name}={value}" for name, value in placement.items() if value is not None),
        f"--export={','.join(sorted(job.environment)) or 'NIL'}",
        "--requeue" if settings.requeue else "--no-requeue",
        # Else a job whose dependency fails would wait for ever.
        "--kill-on-invalid-dep=yes",
        *settings.options,
    ]


def _sbatch(job: JobSpec, programs: Programs, settings: SlurmSettings, lock: int) -> None:
    """Run it. What it says is in the folder afterwards, and also when we are killed while it runs."""
    sbatch = programs.path("sbatch")
    # What is run is not what is submitted, so that no #SBATCH line in it can ask for anything.
    begun, run = shlex.quote(str(job.folder / _BEGUN)), shlex.quote(str(job.script))
    script = f'#!/bin/sh\necho "$SLURM_JOB_ID" >>{begun}\nexec {run}\n'.encode()
    with (job.folder / _ERROR).open("wb") as error, (job.folder / _OUT).open("wb") as out:
        process = subprocess.Popen(
            [sbatch, *options(job, settings)], env=programs.environment(job.environment), stdin=subprocess.PIPE,
            stdout=out, stderr=error, start_new_session=True, pass_fds=(lock,),
        )  # fmt: skip
        try:
            process.communicate(script, timeout=settings.command_seconds)
        except subprocess.TimeoutExpired:
            end(process)


def _reply(folder: Path) -> Reply | None:
    """What the last ``sbatch`` for this execution said; None where there was none."""
    try:
        out, error = (folder / _OUT).read_text(errors="replace"), (folder / _ERROR).read_text(errors="replace")
    except FileNotFoundError:
        return None
    return read_reply(out, error)


def _found(job: JobSpec, job_of_key: Callable[[str], str | None], settle_seconds: float) -> str | None:
    """The job of an ``sbatch`` whose answer was lost. A controller that was busy may come to its request only now: that it
    answers the first question does not mean that it has made all jobs that it was asked for before; the second one counts.

    A job that Slurm has forgotten has left its number in the folder when it began.
    """
    found = job_of_key(job.key)
    if found is None:
        time.sleep(settle_seconds)
        found = job_of_key(job.key)
    return found or _begun(job.folder)


def _begun(folder: Path) -> str | None:
    try:
        return next(iter((folder / _BEGUN).read_text(errors="replace").split()), None)
    except FileNotFoundError:
        return None


@contextmanager
def _lock(path: Path, seconds: float) -> Iterator[int]:
    """Hold the lock of an execution, whose handle ``sbatch`` inherits. Raises SchedulerUnavailable where it is held."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        deadline = time.monotonic() + seconds
        while not _taken(handle):
            if time.monotonic() >= deadline:
                raise SchedulerUnavailable("an earlier sbatch for this execution is still under way")
            time.sleep(_LOOK_AGAIN)
        yield handle
    finally:
        os.close(handle)


def _taken(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        # Some shared file systems have no locks: then an answer that is still to come counts as lost, and is waited for.
        return error.errno in _NO_LOCKS
    return True
