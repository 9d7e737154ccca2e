"""Remote submissions on PostgreSQL, over statement files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from psycopg import errors as pg

from tenure.model.errors import AlreadyExists
from tenure.model.fact import Fact
from tenure.model.json_text import canonical_json
from tenure.remote.engine.remote import Remote
from tenure.remote.model.execution import Execution
from tenure.remote.model.fields import ExecutionState, ProjectionState
from tenure.remote.port import SCAN, Writing
from tenure.remote.rows import ExecutionRow, NodeRow, RefusalOf, SubmissionFilter, SubmissionPage, SubmissionRow
from tenure.store.operation import Op, Statement
from tenure.store.postgres import rows
from tenure.store.postgres.reading import refusal
from tenure.store.postgres.rows import Row
from tenure.store.postgres.store import PostgresStore

_NODE = [f.name for f in fields(NodeRow)]
_SUBMISSION = [f.name for f in fields(SubmissionRow)]
_EXECUTION = [f.name for f in fields(Execution)]
_KEPT = [f.name for f in fields(ExecutionRow) if f.name != "execution"]
_FACT = (
    "thread", "seq", "tenant", "at", "type", "actor", "idempotency_key", "correlation_id", "causation_id", "trace_id",
    "payload_hash", "data", "hash",
)  # fmt: skip
_BEAT = (
    "uid", "tenant", "agent_id", "incarnation", "polled_at", "draining", "holding", "scheduler", "scheduler_problem",
    "problem_since", "folder_id", "served_until", "job_problem",
)  # fmt: skip
_TIMES = ("handed_out_at", "accepted_at", "running_at", "ended_at")
_LAST = 2**63 - 1


def remote_on(_: PostgresStore) -> Remote:
    """Remote submissions beside a store, to be put among the followers of its callers."""
    return Remote(PostgresRemote())


class PostgresRemote:
    """Implements ``tenure.remote.port.RemoteStorage`` beside a ``PostgresStore``."""

    def node(
        self, tenant: int, *, name: str | None = None, principal: int | None = None, uid: int | None = None, lock: bool = False
    ) -> Op[NodeRow | None]:  # fmt: skip
        """See ``RemoteStorage.node``."""
        if lock:
            found = yield Statement("lock_node", {"tenant": tenant, "name": name})
        else:
            found = yield Statement("node", {"tenant": tenant, "name": name, "principal": principal, "uid": uid})
        return _node(found[0]) if found else None

    def nodes(self, tenant: int) -> Op[list[NodeRow]]:
        """See ``RemoteStorage.nodes``."""
        return [_node(row) for row in (yield Statement("nodes", {"tenant": tenant}))]

    def write_node(self, row: NodeRow, fact: Fact, *, new: bool) -> Op[bool]:
        """See ``RemoteStorage.write_node``."""
        params = {name: getattr(fact, name) for name in _FACT} | {
            "fact_seq": fact.seq, "fact_at": fact.at, "data": canonical_json(fact.data), "uid": row.uid,
            "tenant": row.tenant, "name": row.name, "spec": canonical_json(row.spec), "worker": row.worker,
            "principal": row.principal, "created_at": row.created_at,
        }  # fmt: skip
        return bool((yield Statement("insert_node" if new else "update_node", params)))

    def beat_node(self, row: NodeRow) -> Op[None]:
        """See ``RemoteStorage.beat_node``."""
        params = {name: getattr(row, name) for name in _BEAT} | {"former_agents": list(row.former_agents)}
        yield Statement("beat_node", params)

    def find_submission(self, tenant: int, workspace_id: str, idempotency_key: str) -> Op[SubmissionRow | None]:
        """See ``RemoteStorage.find_submission``."""
        params = {"tenant": tenant, "workspace_id": workspace_id, "idempotency_key": idempotency_key}
        found = yield Statement("submission_by_key", params)
        return _submission(found[0]) if found else None

    def submissions(self, tenant: int | None, uids: Sequence[int]) -> Op[dict[int, SubmissionRow]]:
        """See ``RemoteStorage.submissions``."""
        found = yield Statement("submissions", {"tenant": tenant, "uids": sorted(set(uids))})
        return {row["uid"]: _submission(row) for row in found}

    def submissions_of(self, tenant: int, subjects: Sequence[int]) -> Op[dict[int, SubmissionRow]]:
        """See ``RemoteStorage.submissions_of``."""
        found = yield Statement("submissions_of_subjects", {"tenant": tenant, "subjects": sorted(subjects)})
        return {row["subject"]: _submission(row) for row in found}

    def list_submissions(
        self, tenant: int, chosen: SubmissionFilter, limit: int, before: int | None
    ) -> Op[SubmissionPage]:
        """See ``RemoteStorage.list_submissions``."""
        more = limit + 1
        params = {f.name: getattr(chosen, f.name) for f in fields(SubmissionFilter)} | {
            "tenant": tenant, "limit": more, "before": before if before is not None else _LAST,
            "scan": max(SCAN, more) if chosen.sifts else more,
        }  # fmt: skip
        name = "list_submissions"
        if chosen.job_id is not None:
            name = "list_submissions_of_job"
        elif chosen.node is not None:
            name = "list_submissions_of_node"
        found = (yield Statement(name, params))[0]
        uids = found["uids"][:limit]
        rows = (yield from self.submissions(tenant, uids)) if uids else {}
        return SubmissionPage([rows[uid] for uid in uids], uids[-1] if len(found["uids"]) > limit else found["reached"])

    def submissions_after(self, tenant: int | None, after: int, limit: int) -> Op[list[SubmissionRow]]:
        """See ``RemoteStorage.submissions_after``."""
        params = {"tenant": tenant, "after": after, "limit": limit}
        return [_submission(row) for row in (yield Statement("submissions_after", params))]

    def executions(self, submissions: Sequence[int]) -> Op[dict[int, list[ExecutionRow]]]:
        """See ``RemoteStorage.executions``."""
        found: dict[int, list[ExecutionRow]] = {}
        for row in (yield Statement("remote_executions", {"submissions": sorted(set(submissions))})):
            found.setdefault(row["submission"], []).append(_execution(row))
        return found

    def results(self, submission: int) -> Op[dict[int, Mapping[str, Any]]]:
        """See ``RemoteStorage.results``."""
        found = yield Statement("remote_results", {"submission": submission})
        return {row["number"]: row["result_ref"] for row in found}

    def open_executions(self, tenant: int, node: int) -> Op[list[tuple[ExecutionRow, SubmissionRow]]]:
        """See ``RemoteStorage.open_executions``."""
        found = yield Statement("open_executions", {"tenant": tenant, "node": node})
        return [(_execution(_with_times(row["execution"])), _submission(row)) for row in found]

    def refusals(self, tenant: int, subject: int, limit: int, before: int | None) -> Op[list[RefusalOf]]:
        """See ``RemoteStorage.refusals``."""
        params = {
            "tenant": tenant,
            "subject": subject,
            "limit": limit,
            "before": before if before is not None else _LAST,
        }
        return [RefusalOf(row["uid"], refusal(row)) for row in (yield Statement("newest_refusals", params))]

    def known_events(self, tenant: int, events: Sequence[tuple[str, str]]) -> Op[Mapping[tuple[str, str], bytes]]:
        """See ``RemoteStorage.known_events``."""
        wanted = sorted(set(events))
        params = {"tenant": tenant, "sources": [source for source, _ in wanted], "ids": [id_ for _, id_ in wanted]}
        found = yield Statement("known_events", params)
        return {(row["source"], row["message_id"]): bytes(row["content_hash"]) for row in found}

    def inbox_cleared(self, tenant: int) -> Op[datetime | None]:
        """See ``RemoteStorage.inbox_cleared``."""
        found = yield Statement("inbox_cleared", {"tenant": tenant})
        return found[0]["until"] if found else None

    def write(self, writing: Writing) -> Op[bool]:
        """See ``RemoteStorage.write``."""
        born = [_plain(row, _SUBMISSION) for uid, row in writing.submissions.items() if uid in writing.born]
        moved = [_plain(row, _SUBMISSION) for uid, row in writing.submissions.items() if uid not in writing.born]
        params = {
            "tenant": writing.tenant, "actor": writing.actor,
            "facts": json.dumps([_plain(fact, _FACT) for fact in writing.facts]),
            "born": json.dumps(born), "moved": json.dumps(moved),
            "executions": json.dumps([
                _plain(row.execution, _EXECUTION) | _plain(row, _KEPT) for row in writing.executions.values()
            ]),
            "events": json.dumps([
                {"source": source, "message_id": event_id, "content_hash": digest.hex()}
                for (source, event_id), digest in sorted(writing.events.items())
            ]),
            "hints": sorted(writing.hints),
        }  # fmt: skip
        try:
            written = yield Statement("write_remote", params)
        except pg.UniqueViolation as error:
            raise AlreadyExists("The same was submitted at this moment.", "Send it again.") from error
        return bool(written[0]["taken"] == len(writing.events))


def _plain(value: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: rows.as_json(getattr(value, name)) for name in names}


def _node(row: Row) -> NodeRow:
    values = {name: row[name] for name in _NODE}
    return NodeRow(**values | {"head": bytes(row["head"]), "former_agents": tuple(row["former_agents"])})


def _submission(row: Row) -> SubmissionRow:
    values = {name: row[name] for name in _SUBMISSION}
    source = row["source_execution_state"]
    return SubmissionRow(
        **values | {
            "head": bytes(row["head"]), "command_hash": bytes(row["command_hash"]),
            "projection_state": ProjectionState(row["projection_state"]),
            "source_execution_state": ExecutionState(source) if source is not None else None,
        }
    )  # fmt: skip


def _execution(row: Mapping[str, Any]) -> ExecutionRow:
    state = row["state"]
    values = {name: row[name] for name in _EXECUTION} | {"state": ExecutionState(state) if state is not None else None}
    return ExecutionRow(execution=Execution(**values), **{name: row[name] for name in _KEPT})


def _with_times(row: Mapping[str, Any]) -> dict[str, Any]:
    times = {name: datetime.fromisoformat(row[name]) for name in _TIMES if row[name] is not None}
    return {**row, **times}
