"""Jobs as processes of this machine. All that is known of a job is in its folder, so that another agent can go on.

``submit`` writes a job down whole, under a number of its own, and then begins those for which there is room, in their
order. A job is begun once at most, however often that is tried (``supervisor``).
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path

from tenure.agent.errors import AdapterMissing
from tenure.agent.local import supervisor
from tenure.agent.local.standing import refused, status_of
from tenure.agent.scheduler import JobSpec, JobStatus, Phase, SchedulerUnavailable
from tenure.agent.settings import LocalSettings

#: After so long a supervisor that has not begun its job is taken for one that never came up.
_START_SECONDS = 30.0
#: What ended longer ago is forgotten: no agent asks for it any more.
_KEEP_SECONDS = 90 * 86400.0
_SUPERVISOR = Path(supervisor.__file__)
_PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ")


class LocalScheduler:
    """The adapter. Not for several threads at once."""

    job_ids_are_reported = True
    settle_seconds = 0.0  # a submission is one rename: there or not there

    def __init__(self, folder: Path, settings: LocalSettings) -> None:
        self.name = "local"
        self._jobs = folder / "jobs"
        self._settings = settings
        self._cpu = settings.cpu or os.cpu_count() or 1
        self._memory_mib = settings.memory_mib or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
        self._keys: dict[str, str] = {}
        self._ended: dict[str, JobStatus] = {}
        self._open: dict[str, dict[str, object]] = {}
        self._launched: dict[str, float] = {}
        self._children: list[subprocess.Popen[bytes]] = []

    def open(self) -> None:
        """Read which jobs there are."""
        if not Path("/proc/self/stat").exists():
            raise AdapterMissing("The local adapter needs Linux and its /proc.", "Run the agent on Linux.")
        try:
            self._jobs.mkdir(parents=True, exist_ok=True)
            folders = sorted(self._jobs.iterdir(), key=lambda path: (path.name.isdigit(), len(path.name), path.name))
            for folder in folders:
                if not folder.name.isdigit():
                    shutil.rmtree(folder)  # was never submitted: it is renamed only when it is whole
                elif (
                    _long_over(folder) and folder is not folders[-1]
                ):  # the last one keeps its number from being given again
                    shutil.rmtree(folder)
                else:
                    self._remember(folder)
        except OSError as error:
            raise _unusable(error) from error

    def close(self) -> None:
        """Nothing to let go of: the supervisors stay with their jobs."""

    def find(self, keys: Collection[str]) -> dict[str, JobStatus]:
        """The jobs under these keys."""
        self._answers()
        return {key: self._standing(self._keys[key]) for key in keys if key in self._keys}

    def submit(self, job: JobSpec) -> str:
        """Write it down under the next number, and begin it if there is room."""
        self._answers()
        if failure := refused(job, self._cpu, self._memory_mib):
            raise failure
        new = self._jobs / ".new"
        document = {
            "key": job.key, "script": str(job.script), "folder": str(job.folder),
            "environment": {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | dict(job.environment),
            "cpu": job.resources.cpu, "memory_mib": job.resources.memory_mib,
            "walltime_seconds": job.resources.walltime_seconds, "grace_seconds": self._settings.grace_seconds,
            "partition": job.placement.partition, "qos": job.placement.qos, "submitted_at": time.time(),
        }  # fmt: skip
        try:
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            supervisor.write_durably(new / supervisor.JOB, document)
            job_id = str(1 + max((int(name) for name in self._numbers()), default=0))
            new.rename(self._jobs / job_id)
            # From here on it is there, also where that cannot be made sure of.
            self._keys[job.key] = job_id
            self._open[job_id] = document
            supervisor.sync_folder(self._jobs)
        except OSError as error:
            raise _unusable(error) from error
        self._begin_what_fits()
        return job_id

    def withdraw(self, job: JobSpec) -> str | None:
        """Its number, if it was submitted. Nothing is ever under way: see ``settle_seconds``."""
        self._answers()
        return self._keys.get(job.key)

    def poll(self, job_ids: Collection[str]) -> dict[str, JobStatus]:
        """How these stand, by what their folders hold."""
        self._answers()
        self._begin_what_fits()
        return {job_id: self._standing(job_id) for job_id in job_ids if job_id in self._open or job_id in self._ended}

    def cancel(self, job_id: str) -> None:
        """Leave word for the supervisor; a job that waits ends at once."""
        self._answers()
        folder = self._jobs / job_id
        if job_id not in self._open:
            return
        try:
            (folder / supervisor.CANCEL).touch()
            with (folder / supervisor.LOCK).open("ab") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if not (folder / supervisor.BEGUN).exists() and not (folder / supervisor.END).exists():
                    supervisor.write_durably(folder / supervisor.END, {"reason": "canceled", "ended_at": time.time()})
        except BlockingIOError:
            pass  # its supervisor has the lock, and sees the word
        except OSError as error:
            raise _unusable(error) from error

    def collect(self, job_id: str, folder: Path) -> None:
        """It wrote into its folder itself."""

    def _remember(self, folder: Path) -> None:
        document = json.loads((folder / supervisor.JOB).read_text(encoding="utf-8"))
        self._keys[str(document["key"])] = folder.name
        self._open[folder.name] = document

    def _numbers(self) -> set[str]:
        return self._open.keys() | self._ended.keys()

    def _answers(self) -> None:
        """Raises SchedulerUnavailable where the folder of the jobs is gone: then nothing can be told of any."""
        if not self._jobs.is_dir():
            raise SchedulerUnavailable(f"The folder of its jobs, {self._jobs}, is not there.")
        self._children = [child for child in self._children if child.poll() is None]

    def _standing(self, job_id: str) -> JobStatus:
        if job_id in self._ended:
            return self._ended[job_id]
        folder, document = self._jobs / job_id, self._open[job_id]
        # In this order: whoever is with the job leaves its end before letting go of the lock.
        begun = (folder / supervisor.BEGUN).exists()
        attended = begun and _locked(folder / supervisor.LOCK)
        status = status_of(job_id, document, begun=_read(folder / supervisor.BEGUN), end=_read(folder / supervisor.END))
        if begun and not attended and status.phase is Phase.RUNNING:
            status = self._lost(job_id, folder, document) or status
        if status.phase in (Phase.COMPLETED, Phase.FAILED):
            self._ended[job_id] = status
            del self._open[job_id]
        return status

    def _lost(self, job_id: str, folder: Path, document: dict[str, object]) -> JobStatus | None:
        """Its supervisor, or the machine, went down: write that down, once nothing of the job is left."""
        if supervisor.end_orphans(folder):
            return None
        begun = _read(folder / supervisor.BEGUN) or {}
        end = {"reason": "lost", "started_at": begun.get("started_at"), "ended_at": time.time()}
        try:
            supervisor.write_durably(folder / supervisor.END, end)
        except OSError as error:
            raise _unusable(error) from error
        return status_of(job_id, document, begun=begun, end=end)

    def _begin_what_fits(self) -> None:
        """Begin those that wait, in their order, up to the first for which there is no room."""
        standing = {job_id: self._standing(job_id).phase for job_id in list(self._open)}
        cpu, memory = self._cpu, self._memory_mib
        waiting = []
        now = time.monotonic()
        for job_id, phase in standing.items():
            launched = now - self._launched.get(job_id, float("-inf")) < _START_SECONDS
            if phase is Phase.RUNNING or (phase is Phase.WAITING and launched):
                cpu -= int(str(self._open[job_id]["cpu"]))
                memory -= int(str(self._open[job_id]["memory_mib"]))
            elif phase is Phase.WAITING:
                waiting.append(job_id)
        for job_id in waiting:
            cpu -= int(str(self._open[job_id]["cpu"]))
            memory -= int(str(self._open[job_id]["memory_mib"]))
            if cpu < 0 or memory < 0:
                return
            self._launch(job_id)

    def _launch(self, job_id: str) -> None:
        command = [sys.executable, "-I", "-S", str(_SUPERVISOR), str(self._jobs / job_id)]
        try:
            child = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True, cwd="/", env={},
            )  # fmt: skip
        except OSError as error:
            raise SchedulerUnavailable(f"No process can be started: {error}.") from error
        self._launched[job_id] = time.monotonic()
        self._children.append(child)


def _long_over(folder: Path) -> bool:
    end = folder / supervisor.END
    return end.exists() and time.time() - end.stat().st_mtime > _KEEP_SECONDS


def _locked(path: Path) -> bool:
    try:
        with path.open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def _read(path: Path) -> dict[str, object] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(error) from error
    return found if isinstance(found, dict) else None


def _unusable(error: OSError) -> SchedulerUnavailable:
    return SchedulerUnavailable(f"The folder of its jobs cannot be used: {error}.")
