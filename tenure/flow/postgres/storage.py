"""Workflows and runs on PostgreSQL, over statement files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from tenure.flow.journal import Append, Position
from tenure.flow.port import RunFilter, Standing
from tenure.flow.postgres.handing_over import PostgresShortCut
from tenure.flow.postgres.journal import PostgresJournal
from tenure.flow.postgres.rows import run_of
from tenure.flow.rows import RunnableRow, RunRow, ScheduleRow, WorkflowRow
from tenure.model.fact import Fact
from tenure.model.json_text import canonical_json
from tenure.store.operation import Op, Statement
from tenure.store.postgres.rows import Row
from tenure.store.postgres.store import PostgresStore

_WORKFLOW = [f.name for f in fields(WorkflowRow)]
_SCHEDULE = [f.name for f in fields(ScheduleRow)]
_RUNNABLE = [f.name for f in fields(RunnableRow)]
_STANDING = [f.name for f in fields(Standing) if f.name not in ("runnable", "state", "record")]
_FACT = (
    "thread", "seq", "at", "type", "actor", "idempotency_key", "correlation_id", "causation_id", "trace_id", "payload_hash",
    "hash",
)  # fmt: skip
_LAST = 2**63 - 1


class PostgresFlow:
    """Implements ``tenure.flow.port.FlowStorage`` beside a ``PostgresStore``."""

    relayed = True

    def __init__(self, store: PostgresStore) -> None:
        self.journal = PostgresJournal(store)
        self.short_cut = PostgresShortCut(store)

    def workflow(self, tenant: int, name: str, version: int | None = None) -> Op[WorkflowRow | None]:
        """See ``FlowStorage.workflow``."""
        found = yield Statement("workflow", {"tenant": tenant, "name": name, "version": version})
        return _workflow(found[0]) if found else None

    def workflows(self, tenant: int, uids: Sequence[int] | None = None) -> Op[list[WorkflowRow]]:
        """See ``FlowStorage.workflows``."""
        wanted = sorted(uids) if uids is not None else None
        return [_workflow(row) for row in (yield Statement("workflows", {"tenant": tenant, "uids": wanted}))]

    def write_workflow(self, row: WorkflowRow, fact: Fact, *, new: bool) -> Op[bool]:
        """See ``FlowStorage.write_workflow``."""
        params = {name: getattr(fact, name) for name in _FACT} | {
            "data": canonical_json(fact.data), "uid": row.uid, "tenant": row.tenant, "name": row.name,
            "version": row.version, "definition": canonical_json(row.definition), "fingerprint": row.fingerprint,
            "created_at": row.created_at, "retired_at": row.retired_at,
        }  # fmt: skip
        return bool((yield Statement("insert_workflow" if new else "update_workflow", params)))

    def append(self, appends: Sequence[Append]) -> Op[list[Position]]:
        """See ``FlowStorage.append``: one statement."""
        return self.journal.append_many(appends)

    def add_runnables(self, runnables: Sequence[RunnableRow]) -> Op[None]:
        """See ``FlowStorage.add_runnables``."""
        values = [{name: getattr(r, name) for name in _RUNNABLE} for r in runnables]
        yield Statement("insert_runnables", {"runnables": json.dumps(values)})

    def write_rows(self, rows: Sequence[RunRow]) -> Op[None]:
        """See ``FlowStorage.write_rows``."""
        yield Statement("set_wake", {"uids": [r.uid for r in rows], "wakes": [r.wake_at for r in rows]})

    def adopt(self, tenant: int, subject: int) -> Op[None]:
        """See ``FlowStorage.adopt``."""
        yield Statement("adopt_by_run", {"tenant": tenant, "subject": subject})

    def subjects_of(self, runnables: Sequence[tuple[int, str]]) -> Op[dict[tuple[int, str], tuple[int, bool]]]:
        """See ``FlowStorage.subjects_of``."""
        if not runnables:
            return {}
        params = {"runs": [run for run, _ in runnables], "keys": [key for _, key in runnables]}
        found = yield Statement("subjects_of_runnables", params)
        return {(row["run"], row["runnable_key"]): (row["subject"], row["there"]) for row in found}

    def lock_runs(self, tenant: int, uids: Sequence[int]) -> Op[list[int]]:
        """See ``FlowStorage.lock_runs``."""
        return [row["uid"] for row in (yield Statement("lock_runs", {"tenant": tenant, "uids": sorted(uids)}))]

    def lock_runs_free(self, tenant: int, uids: Sequence[int]) -> Op[list[int]]:
        """See ``FlowStorage.lock_runs_free``."""
        return [row["uid"] for row in (yield Statement("lock_runs_free", {"tenant": tenant, "uids": sorted(uids)}))]

    def runs(self, tenant: int | None, uids: Sequence[int]) -> Op[dict[int, RunRow]]:
        """See ``FlowStorage.runs``."""
        found = yield Statement("runs", {"tenant": tenant, "uids": sorted(uids)})
        return {row["uid"]: run_of(row) for row in found}

    def find_runs(self, tenant: int, keys: Sequence[tuple[str, str]]) -> Op[dict[tuple[str, str], RunRow]]:
        """See ``FlowStorage.find_runs``."""
        params = {"tenant": tenant, "names": [name for name, _ in keys], "keys": [key for _, key in keys]}
        return {keys[row["item"]]: run_of(row) for row in (yield Statement("find_runs", params))}

    def list_runs(self, tenant: int, chosen: RunFilter, limit: int, before: int | None) -> Op[list[RunRow]]:
        """See ``FlowStorage.list_runs``."""
        params = {f.name: getattr(chosen, f.name) for f in fields(RunFilter)} | {
            "tenant": tenant, "limit": limit, "before": before if before is not None else _LAST,
        }  # fmt: skip
        return [run_of(row) for row in (yield Statement("list_runs", params))]

    def children(self, tenant: int, runs: Sequence[int], limit: int | None = None, after: int = 0) -> Op[list[RunRow]]:
        """See ``FlowStorage.children``."""
        found = yield Statement("children_of_runs", {"runs": sorted(runs), "limit": limit, "after": after})
        return [run_of(row) for row in found if row["tenant"] == tenant]

    def runnables_of(self, tenant: int, subjects: Sequence[int]) -> Op[dict[int, RunnableRow]]:
        """See ``FlowStorage.runnables_of``."""
        found = yield Statement("runnables_of_subjects", {"tenant": tenant, "subjects": sorted(subjects)})
        return {row["subject"]: _runnable(row) for row in found}

    def doers(self, tenant: int, subjects: Sequence[int]) -> Op[dict[int, int | None]]:
        """See ``FlowStorage.doers``."""
        found = yield Statement("doers_of_runnables", {"tenant": tenant, "subjects": sorted(subjects)})
        return {row["worker"]: row["owner"] for row in found}

    def standings(self, runs: Sequence[int], *, everything: bool) -> Op[list[Standing]]:
        """See ``FlowStorage.standings``."""
        found = yield Statement("runnables_of_runs", {"runs": sorted(runs), "all": everything})
        return [_standing(row) for row in found]

    def standings_of(self, run: int, keys: Sequence[str]) -> Op[list[Standing]]:
        """See ``FlowStorage.standings_of``."""
        if not keys:
            return []
        return [_standing(row) for row in (yield Statement("runnables_by_key", {"run": run, "keys": list(keys)}))]

    def results(self, records: Sequence[int]) -> Op[Mapping[int, Any]]:
        """See ``FlowStorage.results``."""
        if not records:
            return {}
        found = yield Statement("results", {"attempts": sorted(record - 1 for record in records)})
        return {
            row["record"]: row["result"] if row["result_ref"] is None else {"result_ref": row["result_ref"]}
            for row in found
        }

    def payloads(self, uids: Sequence[int]) -> Op[Mapping[int, Any]]:
        """See ``FlowStorage.payloads``."""
        if not uids:
            return {}
        return {row["uid"]: row["data"] for row in (yield Statement("payloads", {"uids": sorted(uids)}))}

    def due_runs(self, tenant: int, limit: int) -> Op[list[int]]:
        """See ``FlowStorage.due_runs``."""
        return [row["uid"] for row in (yield Statement("due_runs", {"tenant": tenant, "limit": limit}))]

    def schedules(self, tenant: int, name: str | None = None) -> Op[list[ScheduleRow]]:
        """See ``FlowStorage.schedules``."""
        return [_schedule(row) for row in (yield Statement("schedules", {"tenant": tenant, "name": name}))]

    def lock_schedule(self, tenant: int, name: str) -> Op[ScheduleRow | None]:
        """See ``FlowStorage.lock_schedule``."""
        found = yield Statement("lock_schedule", {"tenant": tenant, "name": name})
        return _schedule(found[0]) if found else None

    def lock_due_schedules(self, tenant: int, limit: int) -> Op[list[ScheduleRow]]:
        """See ``FlowStorage.lock_due_schedules``."""
        return [_schedule(row) for row in (yield Statement("lock_due_schedules", {"tenant": tenant, "limit": limit}))]

    def next_schedule(self, tenant: int) -> Op[float | None]:
        """See ``FlowStorage.next_schedule``."""
        found = yield Statement("next_schedule", {"tenant": tenant})
        return found[0]["seconds"] if found else None

    def write_schedule(self, row: ScheduleRow, fact: Fact, *, new: bool) -> Op[bool]:
        """See ``FlowStorage.write_schedule``."""
        params = {name: getattr(fact, name) for name in _FACT} | {
            "fact_seq": fact.seq, "fact_at": fact.at, "data": canonical_json(fact.data), "uid": row.uid,
            "tenant": row.tenant, "name": row.name, "spec": canonical_json(row.spec), "enabled": row.enabled,
            "next_at": row.next_at, "last_at": row.last_at, "created_at": row.created_at, "retired_at": row.retired_at,
        }  # fmt: skip
        return bool((yield Statement("insert_schedule" if new else "update_schedule", params)))

    def next_wake(self, tenant: int) -> Op[float | None]:
        """See ``FlowStorage.next_wake``."""
        found = yield Statement("next_wake", {"tenant": tenant})
        return found[0]["seconds"] if found else None


def _workflow(row: Row) -> WorkflowRow:
    values = {name: row[name] for name in _WORKFLOW}
    return WorkflowRow(**values | {"fingerprint": bytes(row["fingerprint"]), "head": bytes(row["head"])})


def _schedule(row: Row) -> ScheduleRow:
    return ScheduleRow(**{name: row[name] for name in _SCHEDULE} | {"head": bytes(row["head"])})


def _standing(row: Row) -> Standing:
    return Standing(_runnable(row), row["state"], row["last_record"], **{name: row[name] for name in _STANDING})


def _runnable(row: Row) -> RunnableRow:
    return RunnableRow(**{name: row[name] for name in _RUNNABLE})
