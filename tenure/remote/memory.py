"""Remote submissions in memory, over the data of a memory store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from tenure.model import fact_types as ft
from tenure.model.errors import AlreadyExists
from tenure.model.fact import Fact
from tenure.remote.engine.remote import Remote
from tenure.remote.port import SCAN, Writing
from tenure.remote.rows import ExecutionRow, NodeRow, RefusalOf, SubmissionFilter, SubmissionPage, SubmissionRow
from tenure.store.memory import MemoryStore
from tenure.store.memory.data import Table
from tenure.store.memory.room import Room, operation
from tenure.store.records import InboxRow


def remote_beside(store: MemoryStore) -> Remote:
    """Remote submissions beside a memory store, to be put among the followers of its callers."""
    return Remote(MemoryRemote(store))


class MemoryRemote(Room):
    """Implements ``tenure.remote.port.RemoteStorage`` beside a ``MemoryStore``."""

    def __init__(self, store: MemoryStore) -> None:
        super().__init__(store.data)
        undo = store.data.undo
        self._nodes: Table[int, NodeRow] = Table(undo)
        self._submissions: Table[int, SubmissionRow] = Table(undo)
        self._executions: Table[tuple[int, int], ExecutionRow] = Table(undo)

    @operation
    def node(
        self, tenant: int, *, name: str | None = None, principal: int | None = None, uid: int | None = None, lock: bool = False
    ) -> NodeRow | None:  # fmt: skip
        """See ``RemoteStorage.node``."""
        wanted = ((uid, "uid"), (name, "name"), (principal, "principal"))
        return next(
            (
                node for value, key in wanted if value is not None
                for node in self._nodes.values() if node.tenant == tenant and getattr(node, key) == value
            ),
            None,
        )  # fmt: skip

    @operation
    def nodes(self, tenant: int) -> list[NodeRow]:
        """See ``RemoteStorage.nodes``."""
        return sorted((n for n in self._nodes.values() if n.tenant == tenant), key=lambda n: n.name)

    @operation
    def write_node(self, row: NodeRow, fact: Fact, *, new: bool) -> bool:
        """See ``RemoteStorage.write_node``."""
        others = [n for n in self._nodes.values() if n.tenant == row.tenant and n.uid != row.uid]
        known = self._nodes.get(row.uid)
        if new and any(n.name == row.name or n.principal == row.principal for n in others):
            return False
        if not new and (known is None or known.seq != fact.seq - 1):
            return False
        self._nodes.put(row.uid, replace(row, seq=fact.seq, head=fact.hash))
        self._data.heads.put(row.uid, (fact.seq, fact.hash))
        self._data.tell(fact)
        return True

    @operation
    def beat_node(self, row: NodeRow) -> None:
        """See ``RemoteStorage.beat_node``."""
        self._nodes.put(row.uid, row)

    @operation
    def find_submission(self, tenant: int, workspace_id: str, idempotency_key: str) -> SubmissionRow | None:
        """See ``RemoteStorage.find_submission``."""
        return self._found(tenant, workspace_id, idempotency_key)

    @operation
    def submissions(self, tenant: int | None, uids: Sequence[int]) -> dict[int, SubmissionRow]:
        """See ``RemoteStorage.submissions``."""
        found = (self._submissions[uid] for uid in sorted(set(uids)) if uid in self._submissions)
        return {row.uid: row for row in found if tenant in (None, row.tenant)}

    @operation
    def submissions_of(self, tenant: int, subjects: Sequence[int]) -> dict[int, SubmissionRow]:
        """See ``RemoteStorage.submissions_of``."""
        return {r.subject: r for r in self._submissions.values() if r.subject in subjects and r.tenant == tenant}

    @operation
    def list_submissions(self, tenant: int, chosen: SubmissionFilter, limit: int, before: int | None) -> SubmissionPage:
        """See ``RemoteStorage.list_submissions``."""
        scan = max(SCAN, limit + 1)
        newest = sorted((r for r in self._submissions.values() if r.tenant == tenant), key=lambda r: -r.uid)
        scanned = [
            r for r in newest
            if (before is None or r.uid < before) and chosen.job_id in (None, r.job_id)
            and (chosen.job_id is not None or chosen.node in (None, r.node))
        ][:scan]  # fmt: skip
        found = [
            r for r in scanned
            if chosen.workspace_id in (None, r.workspace_id) and chosen.node in (None, r.node)
            and chosen.projection_state in (None, r.projection_state)
        ]  # fmt: skip
        if len(found) > limit:
            return SubmissionPage(found[:limit], found[limit - 1].uid)
        return SubmissionPage(found, scanned[-1].uid if len(scanned) == scan else None)

    @operation
    def submissions_after(self, tenant: int | None, after: int, limit: int) -> list[SubmissionRow]:
        """See ``RemoteStorage.submissions_after``."""
        found = (r for r in self._submissions.values() if r.uid > after and tenant in (None, r.tenant))
        return sorted(found, key=lambda r: r.uid)[:limit]

    @operation
    def executions(self, submissions: Sequence[int]) -> dict[int, list[ExecutionRow]]:
        """See ``RemoteStorage.executions``."""
        found: dict[int, list[ExecutionRow]] = {}
        for (submission, _), row in sorted(self._executions.items()):
            if submission in submissions:
                found.setdefault(submission, []).append(row)
        return found

    @operation
    def results(self, submission: int) -> dict[int, Mapping[str, Any]]:
        """See ``RemoteStorage.results``."""
        told = (fact.data or {} for fact in self._data.facts.get(submission) or () if fact.type == ft.EVENT_RECEIVED)
        return {data["number"]: data["result_ref"] for data in told if "result_ref" in data}

    @operation
    def open_executions(self, tenant: int, node: int) -> list[tuple[ExecutionRow, SubmissionRow]]:
        """See ``RemoteStorage.open_executions``."""
        return [
            (row, self._submissions[row.submission])
            for _, row in sorted(self._executions.items())
            if (row.tenant, row.node, row.open) == (tenant, node, True)
            and (row.execution.state is None or not row.execution.wanted)
        ]

    @operation
    def refusals(self, tenant: int, subject: int, limit: int, before: int | None) -> list[RefusalOf]:
        """See ``RemoteStorage.refusals``."""
        found = [
            RefusalOf(uid, row) for uid, (owner, row) in enumerate(self._data.refusals, 1)
            if owner == tenant and row.refused.subject == subject and (before is None or uid < before)
        ]  # fmt: skip
        return found[::-1][:limit]

    @operation
    def known_events(self, tenant: int, events: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], bytes]:
        """See ``RemoteStorage.known_events``."""
        inbox = self._data.inbox
        return {event: inbox[tenant, *event].content_hash for event in events if (tenant, *event) in inbox}

    @operation
    def inbox_cleared(self, tenant: int) -> datetime | None:
        """See ``RemoteStorage.inbox_cleared``."""
        return None

    @operation
    def write(self, writing: Writing) -> bool:
        """See ``RemoteStorage.write``."""
        for uid in writing.born:
            row = writing.submissions[uid]
            if self._found(row.tenant, row.workspace_id, row.idempotency_key) is not None:
                raise AlreadyExists("The same was submitted at this moment.", "Send it again.")
        for uid, row in writing.submissions.items():
            self._submissions.put(uid, row)
        for key, execution in writing.executions.items():
            self._executions.put(key, execution)
        for fact in writing.facts:
            self._data.tell(fact)
        now = self._data.clock()
        for event, digest in writing.events.items():
            name = (writing.tenant, *event)
            if name in self._data.inbox:
                return False
            self._data.inbox.put(name, InboxRow(digest, writing.actor, now))
        return True

    def _found(self, tenant: int, workspace_id: str, key: str) -> SubmissionRow | None:
        asked = (tenant, workspace_id, key)
        rows = self._submissions.values()
        return next((r for r in rows if (r.tenant, r.workspace_id, r.idempotency_key) == asked), None)
