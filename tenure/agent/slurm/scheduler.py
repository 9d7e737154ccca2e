"""The adapter: the protocol ``Scheduler`` on Slurm."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from tenure.agent.scheduler import JobSpec, JobStatus, SchedulerUnavailable
from tenure.agent.slurm import accounting, completions, squeue_json, submission
from tenure.agent.slurm.command import Programs, last_words
from tenure.agent.slurm.known_keys import KnownKeys
from tenure.agent.slurm.record import Record
from tenure.agent.slurm.settings import SlurmSettings
from tenure.agent.slurm.states import status

_BEGINNING = datetime.min.replace(tzinfo=UTC)
_DONE_ALREADY = ("already completing or completed", "Invalid job id")
#: Keys that sacct can be given in a list.
_ASKABLE = re.compile(r"^[\w.-]+$", re.ASCII)
_CONFIG = re.compile(r"^(\w+)\s+= (.*)$", re.MULTILINE)


class SlurmScheduler:
    """Jobs of one cluster, submitted and asked for by Slurm's own programs, as the user that the agent runs as.

    Its calls may be made from several threads. ``poll`` and ``find`` run one ``squeue`` whatever the number of jobs; only
    for jobs that it has forgotten is the file of completions read, or else ``sacct`` asked where there is accounting.
    """

    job_ids_are_reported = True
    settle_seconds = 0.0
    """``submit`` itself knows of submissions without an answer, waits for them, and looks for their jobs."""

    def __init__(self, settings: SlurmSettings | None = None) -> None:
        self.name = "slurm"
        self._settings = settings or SlurmSettings()
        self._programs = Programs(
            self._settings.programs, self._settings.command_seconds, self._settings.output_mib << 20
        )
        self._completions: Path | None = self._settings.completions
        self._accounting = False
        self._keys = KnownKeys()

    def open(self) -> None:
        """See that the controller answers, and what it can be asked. Raises SchedulerUnavailable."""
        for each in ("sbatch", "squeue", "scancel"):
            self._programs.path(each)
        told = dict(_CONFIG.findall(self._programs.ask("scontrol", "show", "config").decode(errors="replace")))
        self.name = f"slurm {told.get('SLURM_VERSION', '')}".strip()
        self._accounting = told.get("AccountingStorageType", "").endswith("/slurmdbd")
        if self._settings.completions is None and told.get("JobCompType") == "jobcomp/filetxt":
            self._completions = Path(told["JobCompLoc"])

    def close(self) -> None:
        """Nothing is held."""

    def find(self, keys: Collection[str]) -> dict[str, JobStatus]:
        """The jobs of these keys: ours, and none that ``sbatch`` was refused. Raises SchedulerUnavailable."""
        if not keys:
            return {}
        found = _by_key(self._queue(), keys)
        missing = set(keys) - set(found)
        if missing:
            found |= _by_key(self._completed(lambda record: record.name in missing), missing)
            missing -= set(found)
        askable = [key for key in missing if _ASKABLE.match(key)]
        if askable and self._accounting:
            rows = accounting.of_keys(self._programs, askable, self._settings.accounting_days)
            found |= _by_key(rows, missing)
        self._keys.learn({record.job_id: key for key, record in found.items()})
        return {key: replace(status(record), key=key) for key, record in found.items()}

    def submit(self, job: JobSpec) -> str:
        """Submit it unless it is there, and return its number. Raises Rejected, SchedulerUnavailable."""
        number = submission.submit(job, self._programs, self._settings, self._number_of)
        self._keys.learn({number: job.key})
        return number

    def withdraw(self, job: JobSpec) -> str | None:
        """Its number, if it was submitted; None once no ``sbatch`` can submit it any more. Raises SchedulerUnavailable."""
        number = submission.withdraw(job, self._settings, self._number_of)
        if number is not None:
            self._keys.learn({number: job.key})
        return number

    def poll(self, job_ids: Collection[str]) -> dict[str, JobStatus]:
        """How these jobs stand. Raises SchedulerUnavailable where the controller does not answer; where only accounting does
        not, what the controller has forgotten is unknown.
        """
        if not job_ids:
            return {}
        wanted = set(job_ids)
        found = self._by_number(self._queue(), wanted)
        forgotten = wanted - set(found)
        if forgotten:
            found |= self._by_number(self._completed(lambda record: record.job_id in forgotten), forgotten)
            forgotten -= set(found)
        if forgotten and self._accounting:
            with suppress(SchedulerUnavailable):  # ``find`` will tell of it; the other jobs do not wait for a database
                rows = accounting.ended(self._programs, forgotten, self._settings.accounting_days)
                found |= self._by_number(rows, forgotten)
        return {
            number: replace(status(record), key=self._keys.of(number) or record.name)
            for number, record in found.items()
        }

    def know(self, keys: Mapping[str, str]) -> None:
        """Number -> the key that its job was submitted under, as somebody else has it who submitted it."""
        self._keys.learn(keys)

    def cancel(self, job_id: str) -> None:
        """End the job, if it is ours and has not ended. Raises SchedulerUnavailable."""
        answer = self._programs.run("scancel", f"--user={os.geteuid()}", job_id)
        if answer.status != 0 and not any(words in answer.error for words in _DONE_ALREADY):
            raise SchedulerUnavailable(f"scancel failed: {last_words(answer.error)}")

    def collect(self, job_id: str, folder: Path) -> None:
        """Nothing: the working folder is on a file system that the cluster's nodes share."""

    def _number_of(self, key: str) -> str | None:
        found = self.find([key])
        return found[key].job_id if key in found else None

    def _queue(self) -> list[Record]:
        return list(squeue_json.records(self._programs.ask("squeue", *squeue_json.ARGUMENTS)))

    def _completed(self, wanted: Callable[[Record], bool]) -> list[Record]:
        if self._completions is None:
            return []
        return completions.ended(self._completions, self._settings.completions_mib << 20, wanted)

    def _by_number(self, records: Iterable[Record], numbers: Collection[str]) -> dict[str, Record]:
        """A number may be another job's: a controller that lost its state begins to count anew."""
        return {
            record.job_id: record
            for record in records
            if record.job_id in numbers
            and record.ours
            and record.answers_to(self._keys.of(record.job_id) or record.name)
        }


def _by_key(records: Iterable[Record], keys: Collection[str]) -> dict[str, Record]:
    found: dict[str, Record] = {}
    # Where two bear one key (somebody submitted a copy), the first one is the execution's.
    for record in sorted(records, key=lambda each: each.submitted or _BEGINNING, reverse=True):
        key = next((each for each in (record.name, record.comment) if each in keys), None)
        if key is not None and record.ours and not record.refused:
            found[key] = record
    return found
