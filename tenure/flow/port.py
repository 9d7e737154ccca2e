"""What ``tenure.flow`` keeps and reads beside the journal; implemented for PostgreSQL and for memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from tenure.flow.handing_over import ShortCut
from tenure.flow.journal import Append, JournalStorage, Position
from tenure.flow.rows import RunnableRow, RunRow, ScheduleRow, WorkflowRow
from tenure.model.fact import Fact
from tenure.store.operation import Op


@dataclass(frozen=True, slots=True)
class Standing:
    """A runnable with the subject that stands for it, and how that stands; ``state`` is None where it was lost."""

    runnable: RunnableRow
    state: str | None
    record: int | None = None
    error_class: str | None = None
    error_code: str | None = None
    error_message: str | None = None
    worker: int | None = None
    ended_at: datetime | None = None
    attempt_count: int = 0


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs a list shows: started ``since`` and before ``until``; ``waiting``: those at a manual boundary alone."""

    name: str | None = None
    status: str | None = None
    key: str | None = None
    root: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    waiting: bool = False


class FlowStorage(Protocol):
    """Where workflows and runs are. Every method is an operation, atomic in itself or within the store's transaction."""

    @property
    def journal(self) -> JournalStorage:
        """The facts of runs."""
        ...

    @property
    def short_cut(self) -> ShortCut | None:
        """Statements made for plain ends of steps, where there are such."""
        ...

    @property
    def relayed(self) -> bool:
        """Whether a relay can send the events of its ledger; else event triggers start nothing."""
        ...

    def workflow(self, tenant: int, name: str, version: int | None = None) -> Op[WorkflowRow | None]:
        """One version of a workflow; the newest that is not retired where none is named."""
        ...

    def workflows(self, tenant: int, uids: Sequence[int] | None = None) -> Op[list[WorkflowRow]]:
        """Versions by uid, or all of a tenant, by name and version."""
        ...

    def write_workflow(self, row: WorkflowRow, fact: Fact, *, new: bool) -> Op[bool]:
        """Insert a version, or retire it, with its fact; False where it is there, or has changed, already."""
        ...

    def append(self, appends: Sequence[Append]) -> Op[list[Position]]:
        """Append facts together with the rows that stand for them; ``JournalConflict`` where one has grown meanwhile."""
        ...

    def add_runnables(self, runnables: Sequence[RunnableRow]) -> Op[None]:
        """Keep which subjects stand for runnables that were planned before."""
        ...

    def write_rows(self, rows: Sequence[RunRow]) -> Op[None]:
        """Put when each of the runs falls due; no fact tells of that, because it follows from the facts."""
        ...

    def adopt(self, tenant: int, subject: int) -> Op[None]:
        """Mark a subject as standing for a runnable that was planned for it; it never ceases to."""
        ...

    def subjects_of(self, runnables: Sequence[tuple[int, str]]) -> Op[dict[tuple[int, str], tuple[int, bool]]]:
        """By run and runnable key: the subject, and whether it is there."""
        ...

    def lock_runs(self, tenant: int, uids: Sequence[int]) -> Op[list[int]]:
        """Lock runs, the youngest first; those that there are."""
        ...

    def lock_runs_free(self, tenant: int, uids: Sequence[int]) -> Op[list[int]]:
        """Lock those runs that, with the runs above them, nobody else has locked; never waits."""
        ...

    def runs(self, tenant: int | None, uids: Sequence[int]) -> Op[dict[int, RunRow]]:
        """Runs as they stand, of a tenant or of any."""
        ...

    def find_runs(self, tenant: int, keys: Sequence[tuple[str, str]]) -> Op[dict[tuple[str, str], RunRow]]:
        """Runs by the name of their workflow and their key."""
        ...

    def list_runs(self, tenant: int, chosen: RunFilter, limit: int, before: int | None) -> Op[list[RunRow]]:
        """Runs, the newest first, keyset-paged by uid."""
        ...

    def children(self, tenant: int, runs: Sequence[int], limit: int | None = None, after: int = 0) -> Op[list[RunRow]]:
        """The child runs of runs, as they stand, in order of uid, after one: all, or the first so many."""
        ...

    def runnables_of(self, tenant: int, subjects: Sequence[int]) -> Op[dict[int, RunnableRow]]:
        """The runnables that subjects stand for."""
        ...

    def standings_of(self, run: int, keys: Sequence[str]) -> Op[list[Standing]]:
        """Some runnables of a run with their subjects, in the order of the keys; those that there are."""
        ...

    def doers(self, tenant: int, subjects: Sequence[int]) -> Op[dict[int, int | None]]:
        """Who brought one of the subjects to an end or failed at it: workers, with the principal that owns each."""
        ...

    def standings(self, runs: Sequence[int], *, everything: bool) -> Op[list[Standing]]:
        """The runnables of runs with their subjects, in order of run and uid: all, or those that have not ended."""
        ...

    def results(self, records: Sequence[int]) -> Op[Mapping[int, Any]]:
        """Results of attempts, by record."""
        ...

    def payloads(self, uids: Sequence[int]) -> Op[Mapping[int, Any]]:
        """What facts refer to: payloads of signals, results of steps in code."""
        ...

    def due_runs(self, tenant: int, limit: int) -> Op[list[int]]:
        """Runs of which something has fallen due and which nobody has locked, the longest overdue first."""
        ...

    def schedules(self, tenant: int, name: str | None = None) -> Op[list[ScheduleRow]]:
        """Schedules by name: all, or the one of that name."""
        ...

    def lock_schedule(self, tenant: int, name: str) -> Op[ScheduleRow | None]:
        """One schedule under lock."""
        ...

    def lock_due_schedules(self, tenant: int, limit: int) -> Op[list[ScheduleRow]]:
        """Schedules that have fallen due under lock, without those that somebody else is looking at."""
        ...

    def next_schedule(self, tenant: int) -> Op[float | None]:
        """In how many seconds a schedule falls due; None where none will."""
        ...

    def write_schedule(self, row: ScheduleRow, fact: Fact, *, new: bool) -> Op[bool]:
        """Insert or change a schedule with its fact; False where it is there, or has changed, already."""
        ...

    def next_wake(self, tenant: int) -> Op[float | None]:
        """In how many seconds something falls due; None where nothing will."""
        ...
