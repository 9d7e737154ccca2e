"""Where what crosses the border is kept, beside the kernel's store. PostgreSQL and memory implement it.

Whoever writes to a submission's thread, or to its executions, holds the lock of its subject; so they need none of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from tenure.model.fact import Fact
from tenure.remote.rows import ExecutionRow, NodeRow, RefusalOf, SubmissionFilter, SubmissionPage, SubmissionRow
from tenure.store.operation import Op

#: How many submissions a page looks through, where not all fit, before it says how far it came.
SCAN = 5_000


@dataclass(slots=True)
class Writing:
    """What one transaction writes: facts and rows of submissions, executions, ids of events."""

    tenant: int
    facts: list[Fact] = field(default_factory=list)
    submissions: dict[int, SubmissionRow] = field(default_factory=dict)
    """Of which those in ``born`` are new."""
    born: set[int] = field(default_factory=set)
    executions: dict[tuple[int, int], ExecutionRow] = field(default_factory=dict)
    """By submission and number."""
    events: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """Events that were taken in, by source and id, with the SHA-256 of what they said."""
    actor: str = ""
    hints: set[str] = field(default_factory=set)
    """Keys of queues whose nodes have something to hear."""

    @property
    def empty(self) -> bool:
        """Whether there is nothing to write."""
        return not (self.facts or self.submissions or self.executions or self.events)


class RemoteStorage(Protocol):
    """Every method is an operation, atomic in itself or within the store's ``transaction``."""

    def node(
        self,
        tenant: int,
        *,
        name: str | None = None,
        principal: int | None = None,
        uid: int | None = None,
        lock: bool = False,
    ) -> Op[NodeRow | None]:
        """One node, by name, by the principal bound to it, or by uid."""
        ...

    def nodes(self, tenant: int) -> Op[list[NodeRow]]:
        """All nodes, by name."""
        ...

    def write_node(self, row: NodeRow, fact: Fact, *, new: bool) -> Op[bool]:
        """Insert or change a node with the fact that tells of it; False where it is there, or has changed, already."""
        ...

    def beat_node(self, row: NodeRow) -> Op[None]:
        """Keep what a node said in its poll: telemetry, not a fact."""
        ...

    def find_submission(self, tenant: int, workspace_id: str, idempotency_key: str) -> Op[SubmissionRow | None]:
        """The submission of that key."""
        ...

    def submissions(self, tenant: int | None, uids: Sequence[int]) -> Op[dict[int, SubmissionRow]]:
        """Submissions by uid; those that are not there are missing."""
        ...

    def submissions_of(self, tenant: int, subjects: Sequence[int]) -> Op[dict[int, SubmissionRow]]:
        """Submissions by the subject that stands for them."""
        ...

    def list_submissions(
        self, tenant: int, chosen: SubmissionFilter, limit: int, before: int | None
    ) -> Op[SubmissionPage]:
        """Submissions, the newest first, keyset-paged by uid; at most ``SCAN`` are looked through for a page."""
        ...

    def submissions_after(self, tenant: int | None, after: int, limit: int) -> Op[list[SubmissionRow]]:
        """Submissions in order of uid, for walking through all of them."""
        ...

    def executions(self, submissions: Sequence[int]) -> Op[dict[int, list[ExecutionRow]]]:
        """The executions of submissions, each in order of number; submissions without any are missing."""
        ...

    def results(self, submission: int) -> Op[dict[int, Mapping[str, Any]]]:
        """Where executions of a submission left what they wrote, by number, as their events told last."""
        ...

    def open_executions(self, tenant: int, node: int) -> Op[list[tuple[ExecutionRow, SubmissionRow]]]:
        """What a node may hold and has to be told of: handed out and not accepted, or not wanted any more."""
        ...

    def refusals(self, tenant: int, subject: int, limit: int, before: int | None) -> Op[list[RefusalOf]]:
        """What was refused on a submission's subject, newest first, keyset-paged by uid."""
        ...

    def known_events(self, tenant: int, events: Sequence[tuple[str, str]]) -> Op[Mapping[tuple[str, str], bytes]]:
        """Of these, the events that were taken in before, with the SHA-256 of what they said."""
        ...

    def inbox_cleared(self, tenant: int) -> Op[datetime | None]:
        """Up to when the ids of events may be gone by retention; None where none is."""
        ...

    def write(self, writing: Writing) -> Op[bool]:
        """Write all of it in one statement. False where a submission's key, or an event's id, was taken meanwhile: then
        the transaction has to be given up.
        """
        ...
