"""The ``aiida`` adapter (design 04, AiiDA). All that needs AiiDA happens in one thread."""

from __future__ import annotations

import importlib.metadata
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from tenure.agent.aiida import processes
from tenure.agent.aiida.engine import Engine
from tenure.agent.aiida.processes import Process
from tenure.agent.aiida.settings import AiidaSettings
from tenure.agent.aiida.status import status
from tenure.agent.errors import AdapterMissing
from tenure.agent.scheduler import JobSpec, JobStatus, Phase, Rejected, SchedulerUnavailable
from tenure.agent.sentences import reason_of
from tenure.agent.settings import checked
from tenure.agent.slurm.scheduler import SlurmScheduler
from tenure.agent.slurm.settings import SlurmSettings
from tenure.model.errors import TenureError

if TYPE_CHECKING:
    from tenure.agent.aiida.daemon import Daemon
    from tenure.agent.aiida.site import AiidaSite
    from tenure.agent.settings import AgentSettings

T = TypeVar("T")
_log = logging.getLogger(__name__)
_LONGEST_SECONDS = 3600.0
#: Handed over three times in vain, which is after seven times ``again_seconds``.
_TRIES_BEFORE_ALERT = 8
_LIVE = frozenset({Phase.WAITING, Phase.RUNNING, Phase.ENDING})


class AiidaScheduler:
    """Executions as CalcJobs on one computer of AiiDA. A job's id is the uuid of its process."""

    name = "aiida"
    job_ids_are_reported = False
    settle_seconds = 5.0
    """AiiDA's database may still be at the last thing that a dead agent asked of it."""

    def __init__(self, settings: AiidaSettings, slurm: SlurmSettings | None = None) -> None:
        """``slurm`` is what a site says about the Slurm below AiiDA, where the computer has one."""
        self._settings = settings
        self._slurm_settings = slurm or SlurmSettings()
        self._slurm: SlurmScheduler | None = None
        self._engine = Engine(settings)
        self._site: AiidaSite | None = None
        self._daemon: Daemon | None = None
        self._again: dict[str, tuple[float, float]] = {}
        """Process that no worker has begun -> when it is handed over again, and after how long then."""

    @classmethod
    def of(cls, settings: AgentSettings) -> AiidaScheduler:
        """As ``agent.toml`` says. Raises InvalidSettings."""
        return cls(
            checked(AiidaSettings, settings.aiida, "agent.toml", "aiida"),
            checked(SlurmSettings, settings.slurm, "agent.toml", "slurm"),
        )

    def open(self) -> None:
        """Load the profile, look at the computer, see that the daemon runs. Raises AdapterMissing, InvalidSettings."""
        try:
            version = importlib.metadata.version("aiida-core")
        except importlib.metadata.PackageNotFoundError:
            raise AdapterMissing(
                "AiiDA is not installed where the agent runs.",
                "Install Tenure there with its extra: pip install 'tenure[aiida]'. AiiDA's daemon needs the same.",
            ) from None
        self._engine.start()
        try:
            self._site = self._do(self._look_around)
            self.name = f"aiida {version}"
            if self._site.on_slurm:
                self._slurm = SlurmScheduler(self._slurm_settings)
                self._slurm.open()
                self.name += f", {self._slurm.name}"
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the profile. AiiDA's daemon and the jobs go on."""
        if self._slurm is not None:
            self._slurm.close()
            self._slurm = None
        self._engine.stop()

    def find(self, keys: Collection[str]) -> dict[str, JobStatus]:
        """The processes of these executions. One that a dead agent left without a task is handed to the daemon."""
        wanted = set(keys)
        below = self._slurm.find(wanted) if self._slurm is not None and wanted else {}
        found: dict[str, Process] = {}
        for process in self._handed_over(self._do(lambda: processes.by_key(wanted))):
            found.setdefault(process.key, process)
        told = self._told(found.values(), {found[key].uuid: job for key, job in below.items() if key in found})
        return {status.key: status for status in told}

    def submit(self, job: JobSpec) -> str:
        """Make the process and hand it to AiiDA's daemon, which submits it."""
        if self._slurm is not None:
            self._slurm.find(
                [job.key]
            )  # where Slurm does not answer, nothing is submitted: AiiDA would pause it in the end
        return self._do(partial(self._submit, job))

    def withdraw(self, job: JobSpec) -> str | None:
        """Its process, if one was made. What a dead agent asked of the database has come to its end: ``settle_seconds``."""
        found = self.find([job.key]).get(job.key)
        return None if found is None else found.job_id

    def poll(self, job_ids: Collection[str]) -> dict[str, JobStatus]:
        """One question to AiiDA's database and one to Slurm."""
        found = self._handed_over(self._do(lambda: processes.by_uuid(job_ids)))
        return {told.job_id: told for told in self._told(found, self._below(found))}

    def cancel(self, job_id: str) -> None:
        """Kill the process; where it does not hear, end its job in Slurm."""
        found = self._do(lambda: processes.by_uuid([job_id]))
        below = self._below(found)  # where Slurm does not answer, AiiDA would only wait, too
        for process in found:
            heard = process.ended or self._do(partial(self._kill, process.pk))
            below = below if process.ended else self._below(self._do(lambda: processes.by_uuid([job_id])))
            job = below.get(job_id)
            if self._slurm is not None and job is not None and job.phase in _LIVE:
                self._slurm.cancel(job.job_id)
            elif not heard and job is None:
                raise SchedulerUnavailable(f"AiiDA's daemon does not answer for process {process.pk}.")

    def collect(self, job_id: str, folder: Path) -> None:
        """Nothing to bring: the script worked in the folder itself."""

    def _do(self, what: Callable[[], T]) -> T:
        try:
            return self._engine.run(what)
        except (TenureError, SchedulerUnavailable, Rejected):
            raise
        except Exception as error:
            _log.warning("AiiDA cannot be used now", exc_info=True)
            if self._daemon is not None:
                self._daemon.doubt()
            raise SchedulerUnavailable(f"AiiDA cannot be used now: {type(error).__name__}: {error}") from error

    def _look_around(self) -> AiidaSite:
        from tenure.agent.aiida.daemon import Daemon  # noqa: PLC0415
        from tenure.agent.aiida.site import AiidaSite  # noqa: PLC0415

        site, self._daemon = AiidaSite.of(self._settings), Daemon(self._settings)
        self._daemon.ensure()
        return site

    def _submit(self, job: JobSpec) -> str:
        from tenure.agent.aiida import submission  # noqa: PLC0415

        if self._site is None or self._daemon is None:
            raise SchedulerUnavailable("The adapter is not open.")
        self._daemon.connect()
        return submission.submit(job, self._site, self._slurm_settings)

    def _handed_over(self, found: Iterable[Process]) -> list[Process]:
        """The processes that can go on. The daemon is given again what it may never have got: an agent died before it
        gave it, or the daemon did before it kept it.
        """
        kept = []
        for process in found:
            if process.begun:
                self._again.pop(process.uuid, None)
            elif not self._hand_over(process):
                continue
            kept.append(process)
        return kept

    def _hand_over(self, process: Process) -> bool:
        from tenure.agent.aiida import submission  # noqa: PLC0415

        # Asked of AiiDA's database alone: before it is told of as a job, whether or not a broker answers.
        if process.uuid not in self._again and not process.sent and self._do(lambda: submission.given_up(process.pk)):
            return False
        now, pause = time.monotonic(), self._settings.again_seconds
        due, pause = self._again.setdefault(process.uuid, (now + pause if process.sent else now, pause))
        if now < due:
            return True
        self._again[process.uuid] = (now + pause, min(2 * pause, _LONGEST_SECONDS))
        try:
            self._do(partial(self._resume, process.pk))
        except SchedulerUnavailable as error:
            # It is given again. How the others stand, and what Slurm says of this one, is told all the same.
            _log.warning("Process %s cannot be handed to AiiDA's daemon now: %s", process.pk, error)
        return True

    def _resume(self, pk: int) -> None:
        from tenure.agent.aiida import submission  # noqa: PLC0415

        self._connect()
        submission.resume(pk)

    def _connect(self) -> None:
        if self._daemon is not None:
            self._daemon.connect()

    def _told(self, found: Iterable[Process], below: Mapping[str, JobStatus]) -> list[JobStatus]:
        stopped = self._do(self._daemon_problem)
        told = []
        for process in found:
            job = below.get(process.uuid)
            if process.state == "killed" and job is not None and job.phase in _LIVE and self._slurm is not None:
                self._slurm.cancel(job.job_id)  # the kill came while it was being submitted
            told.append(self._standing(process, job, stopped or self._not_begun(process)))
        return told

    def _standing(self, process: Process, below: JobStatus | None, problem: str | None) -> JobStatus:
        """How one stands. Of one that nothing can be told of, that it is there, or it would be submitted again."""
        try:
            return status(process, below, problem)
        except Exception as error:  # a defect, for this one: the others are not to go unwatched
            _log.exception("It cannot be told how process %s stands (%s)", process.pk, reason_of(error))
            said = (
                f"It cannot be told how process {process.pk} of execution {process.key} stands: {reason_of(error)}."
                f" See `verdi process report {process.pk}`; once it is over: `tenure agent conclude`."
            )
            return JobStatus(job_id=process.uuid, key=process.key, phase=Phase.ENDING, problem=said)

    def _not_begun(self, process: Process) -> str | None:
        """What to say of a process that was handed over again and again, and that no worker begins."""
        _, pause = self._again.get(process.uuid, (0.0, 0.0))
        if process.begun or pause < _TRIES_BEFORE_ALERT * self._settings.again_seconds:
            return None
        return (
            f"No worker of AiiDA begins process {process.pk} of execution {process.key}: none is free, or none hears."
            " See `verdi daemon status` and `verdi process list`; where they idle, `verdi daemon restart`."
        )

    def _below(self, found: Collection[Process]) -> dict[str, JobStatus]:
        """What Slurm says of the jobs of these processes, by the process's uuid; one question."""
        if self._slurm is None:
            return {}
        numbered = {process.job_id: process.uuid for process in found if process.job_id}
        # A controller that lost its state begins to count anew: the number may be another's job now.
        self._slurm.know({process.job_id: process.key for process in found if process.job_id})
        # A worker may have died between the submission and writing down the number.
        nameless = [each for each in found if not each.job_id and (each.ended or each.step == "submitting")]
        if not nameless:
            return {
                numbered[number]: job for number, job in self._slurm.poll(list(numbered)).items() if number in numbered
            }
        keyed = {each.key: each.uuid for each in found if each.job_id or each in nameless}
        return {keyed[key]: job for key, job in self._slurm.find(list(keyed)).items() if key in keyed}

    def _daemon_problem(self) -> str | None:
        try:
            if self._daemon is not None:
                self._daemon.ensure()
        except SchedulerUnavailable as error:
            return str(error)
        return None

    def _kill(self, pk: int) -> bool:
        from tenure.agent.aiida import submission  # noqa: PLC0415

        self._connect()
        return submission.kill(pk, self._settings.answer_seconds)
