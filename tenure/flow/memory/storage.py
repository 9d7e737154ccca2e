"""Workflows and runs in memory, over the data of a memory store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tenure.flow.journal import Append, JournalStorage, Position, stale
from tenure.flow.memory.journal import MemoryJournal
from tenure.flow.memory.tables import FlowTables
from tenure.flow.port import RunFilter, Standing
from tenure.flow.rows import RunnableRow, RunRow, ScheduleRow, WorkflowRow
from tenure.model.attempt import attempt_of
from tenure.model.fact import Fact
from tenure.model.fact_types import COMPLETED, FAILED
from tenure.model.states import TERMINAL
from tenure.store.memory import MemoryStore
from tenure.store.memory.room import Room, operation
from tenure.store.operation import Op


class MemoryFlow(Room):
    """Implements ``tenure.flow.port.FlowStorage`` beside a ``MemoryStore``; ``journal`` may be another adapter."""

    short_cut = None
    relayed = False

    def __init__(self, store: MemoryStore, journal: JournalStorage | None = None) -> None:
        super().__init__(store.data)
        self.tables = FlowTables(store.data)
        self.journal: JournalStorage = journal if journal is not None else MemoryJournal(self.tables)

    @operation
    def workflow(self, tenant: int, name: str, version: int | None = None) -> WorkflowRow | None:
        """See ``FlowStorage.workflow``."""
        found = [
            w for w in self.tables.workflows.values()
            if (w.tenant, w.name) == (tenant, name)
            and (w.retired_at is None if version is None else w.version == version)
        ]  # fmt: skip
        return max(found, key=lambda w: w.version, default=None)

    @operation
    def workflows(self, tenant: int, uids: Sequence[int] | None = None) -> list[WorkflowRow]:
        """See ``FlowStorage.workflows``."""
        found = (w for w in self.tables.workflows.values() if w.tenant == tenant and (uids is None or w.uid in uids))
        return sorted(found, key=lambda w: (w.name, w.version))

    @operation
    def write_workflow(self, row: WorkflowRow, fact: Fact, *, new: bool) -> bool:
        """See ``FlowStorage.write_workflow``."""
        known = next(
            (
                w for w in self.tables.workflows.values()
                if (w.tenant, w.name, w.version) == (row.tenant, row.name, row.version)
            ),
            None,
        )  # fmt: skip
        if (known is not None) if new else (known is None or known.seq != row.seq - 1):
            return False
        self.tables.workflows.put(row.uid, row)
        self._data.heads.put(row.uid, (fact.seq, fact.hash))
        self._data.tell(fact)
        return True

    def append(self, appends: Sequence[Append]) -> Op[list[Position]]:
        """See ``FlowStorage.append``: facts first, then what stands for them."""
        ends = yield from self.journal.append_many(appends)
        yield from self._stand(appends, ends)
        return ends

    @operation
    def _stand(self, appends: Sequence[Append], ends: Sequence[Position]) -> None:
        for append, end in zip(appends, ends, strict=True):
            self._keep(append, end)

    def _keep(self, append: Append, end: Position) -> None:
        tables, row = self.tables, append.row if append.row is not None else self.tables.runs[append.thread]
        if row.run_key is not None:
            name = (row.tenant, row.name, row.run_key)
            if tables.run_keys.get(name, row.uid) != row.uid:
                raise stale(append.thread, 0)
            tables.run_keys.put(name, row.uid)
        tables.runs.put(row.uid, replace(row, seq=end.rev, head=end.head))
        for runnable in append.runnables:
            tables.runnables.put(runnable.subject, runnable)
        for uid, payload in append.payloads.items():
            tables.payloads.put(uid, payload)
        for parent, child, relation in append.links:
            self._data.links.put((parent, child, relation), append.tenant)

    @operation
    def add_runnables(self, runnables: Sequence[RunnableRow]) -> None:
        """See ``FlowStorage.add_runnables``."""
        for runnable in runnables:
            self.tables.runnables.put(runnable.subject, runnable)

    @operation
    def write_rows(self, rows: Sequence[RunRow]) -> None:
        """See ``FlowStorage.write_rows``."""
        for row in rows:
            self.tables.runs.put(row.uid, row)

    @operation
    def adopt(self, tenant: int, subject: int) -> None:
        """See ``FlowStorage.adopt``."""
        thread = self._data.threads[subject]
        if thread.envelope.tenant == tenant:
            self._data.threads.put(subject, replace(thread, in_run=True))

    @operation
    def subjects_of(self, runnables: Sequence[tuple[int, str]]) -> dict[tuple[int, str], tuple[int, bool]]:
        """See ``FlowStorage.subjects_of``."""
        wanted = set(runnables)
        return {
            (r.run, r.runnable_key): (r.subject, r.subject in self._data.threads)
            for r in self.tables.runnables.values() if (r.run, r.runnable_key) in wanted
        }  # fmt: skip

    @operation
    def lock_runs(self, tenant: int, uids: Sequence[int]) -> list[int]:
        """See ``FlowStorage.lock_runs``. Whoever is within an operation has the whole store."""
        return sorted((uid for uid in uids if self._is_of(tenant, uid)), reverse=True)

    @operation
    def lock_runs_free(self, tenant: int, uids: Sequence[int]) -> list[int]:
        """See ``FlowStorage.lock_runs_free``. Nobody else can have anything locked."""
        return sorted((uid for uid in uids if self._is_of(tenant, uid)), reverse=True)

    @operation
    def runs(self, tenant: int | None, uids: Sequence[int]) -> dict[int, RunRow]:
        """See ``FlowStorage.runs``."""
        return {uid: self.tables.runs[uid] for uid in sorted(uids) if self._is_of(tenant, uid)}

    @operation
    def find_runs(self, tenant: int, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], RunRow]:
        """See ``FlowStorage.find_runs``."""
        known = self.tables.run_keys
        return {(n, k): self.tables.runs[uid] for n, k in keys if (uid := known.get((tenant, n, k))) is not None}

    @operation
    def list_runs(self, tenant: int, chosen: RunFilter, limit: int, before: int | None) -> list[RunRow]:
        """See ``FlowStorage.list_runs``."""
        found = [
            r for r in self.tables.runs.values()
            if r.tenant == tenant and (before is None or r.uid < before)
            and chosen.name in (None, r.name) and chosen.status in (None, r.status) and chosen.key in (None, r.run_key)
            and chosen.root in (None, r.root) and (chosen.since is None or r.started_at >= chosen.since)
            and (chosen.until is None or r.started_at < chosen.until) and (not chosen.waiting or r.boundary is not None)
        ]  # fmt: skip
        return sorted(found, key=lambda r: -r.uid)[:limit]

    @operation
    def children(self, tenant: int, runs: Sequence[int], limit: int | None = None, after: int = 0) -> list[RunRow]:
        """See ``FlowStorage.children``."""
        found = (r for r in self.tables.runs.values() if r.tenant == tenant and r.parent_run in runs and r.uid > after)
        return sorted(found, key=lambda r: r.uid)[:limit]

    @operation
    def runnables_of(self, tenant: int, subjects: Sequence[int]) -> dict[int, RunnableRow]:
        """See ``FlowStorage.runnables_of``."""
        known = self.tables.runnables
        return {uid: known[uid] for uid in sorted(subjects) if uid in known and known[uid].tenant == tenant}

    @operation
    def standings_of(self, run: int, keys: Sequence[str]) -> list[Standing]:
        """See ``FlowStorage.standings_of``."""
        known = {r.runnable_key: r for r in self.tables.runnables.values() if r.run == run}
        return [self._standing(known[key]) for key in keys if key in known]

    @operation
    def doers(self, tenant: int, subjects: Sequence[int]) -> dict[int, int | None]:
        """See ``FlowStorage.doers``."""
        data = self._data
        told = (fact for subject in subjects for fact in data.facts[subject] if fact.tenant == tenant)
        workers = {fact.worker for fact in told if fact.type in (COMPLETED, FAILED) and fact.worker is not None}
        return {uid: data.workers[uid].owner for uid in sorted(workers)}

    @operation
    def standings(self, runs: Sequence[int], *, everything: bool) -> list[Standing]:
        """See ``FlowStorage.standings``."""
        found = sorted((r for r in self.tables.runnables.values() if r.run in runs), key=lambda r: (r.run, r.subject))
        standings = (self._standing(runnable) for runnable in found)
        return [s for s in standings if everything or s.state is None or s.state not in TERMINAL]

    @operation
    def results(self, records: Sequence[int]) -> Mapping[int, Any]:
        """See ``FlowStorage.results``."""
        details = {record: self._data.details.get(attempt_of(record)) for record in records}
        return {
            record: told.get("result") if told.get("result_ref") is None else {"result_ref": told["result_ref"]}
            for record, told in details.items() if told is not None
        }  # fmt: skip

    @operation
    def payloads(self, uids: Sequence[int]) -> Mapping[int, Any]:
        """See ``FlowStorage.payloads``."""
        return {uid: self.tables.payloads[uid] for uid in uids if uid in self.tables.payloads}

    @operation
    def due_runs(self, tenant: int, limit: int) -> list[int]:
        """See ``FlowStorage.due_runs``."""
        now = self._data.clock()
        due = [(at, uid) for at, uid in self._wakes(tenant) if at <= now]
        return [uid for _, uid in sorted(due)[:limit]]

    @operation
    def schedules(self, tenant: int, name: str | None = None) -> list[ScheduleRow]:
        """See ``FlowStorage.schedules``."""
        found = (s for s in self.tables.schedules.values() if s.tenant == tenant and name in (None, s.name))
        return sorted(found, key=lambda s: s.name)

    @operation
    def lock_schedule(self, tenant: int, name: str) -> ScheduleRow | None:
        """See ``FlowStorage.lock_schedule``."""
        return next((s for s in self.tables.schedules.values() if (s.tenant, s.name) == (tenant, name)), None)

    @operation
    def lock_due_schedules(self, tenant: int, limit: int) -> list[ScheduleRow]:
        """See ``FlowStorage.lock_due_schedules``."""
        now = self._data.clock()
        due = [(s.next_at, s) for s in self.tables.schedules.values() if s.tenant == tenant and s.next_at is not None]
        return [s for at, s in sorted(due, key=lambda pair: (pair[0], pair[1].uid)) if at <= now][:limit]

    @operation
    def next_schedule(self, tenant: int) -> float | None:
        """See ``FlowStorage.next_schedule``."""
        due = [s.next_at for s in self.tables.schedules.values() if s.tenant == tenant and s.next_at is not None]
        return (min(due) - self._data.clock()).total_seconds() if due else None

    @operation
    def write_schedule(self, row: ScheduleRow, fact: Fact, *, new: bool) -> bool:
        """See ``FlowStorage.write_schedule``."""
        names = {(s.tenant, s.name) for s in self.tables.schedules.values()}
        known = self.tables.schedules.get(row.uid)
        if ((row.tenant, row.name) in names) if new else (known is None or known.seq != fact.seq - 1):
            return False
        self.tables.schedules.put(row.uid, replace(row, seq=fact.seq, head=fact.hash))
        self._data.heads.put(row.uid, (fact.seq, fact.hash))
        self._data.tell(fact)
        return True

    @operation
    def next_wake(self, tenant: int) -> float | None:
        """See ``FlowStorage.next_wake``."""
        first = min(self._wakes(tenant), default=None)
        return (first[0] - self._data.clock()).total_seconds() if first is not None else None

    def _wakes(self, tenant: int) -> list[tuple[Any, int]]:
        return [(r.wake_at, r.uid) for r in self.tables.runs.values() if r.tenant == tenant and r.wake_at is not None]

    def _is_of(self, tenant: int | None, uid: int) -> bool:
        return uid in self.tables.runs and tenant in (None, self.tables.runs[uid].tenant)

    def _standing(self, runnable: RunnableRow) -> Standing:
        thread = self._data.threads.get(runnable.subject)
        if thread is None:
            return Standing(runnable, None)
        env = thread.envelope
        if env.last_record is None:
            return Standing(runnable, env.state, attempt_count=env.attempt_count)
        attempt = thread.attempts[attempt_of(env.last_record)]
        message = self._data.details.get(attempt.uid, {}).get("error_message")
        return Standing(
            runnable, env.state, env.last_record, attempt.error_class, attempt.error_code,
            message[:2000] if message else None, attempt.worker, attempt.ended_at, env.attempt_count,
        )  # fmt: skip
