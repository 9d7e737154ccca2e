"""Reading submissions: one with its executions, lists, and the history of what crossed the border."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenure.engine.caller import Caller
from tenure.model.fact import Fact
from tenure.remote.engine.nodes import no_such_node
from tenure.remote.engine.remote import remote_of
from tenure.remote.model.errors import SubmissionNotFound
from tenure.remote.model.fields import ProjectionState
from tenure.remote.model.names import submission_uid
from tenure.remote.rows import ExecutionRow, SubmissionFilter, SubmissionPage, SubmissionRow
from tenure.store.operation import Op
from tenure.store.records import RefusalRow


@dataclass(frozen=True, slots=True)
class SubmissionStanding:
    """A submission with its executions."""

    submission: SubmissionRow
    executions: Sequence[ExecutionRow]
    results: Mapping[int, Mapping[str, Any]]
    """Where executions left what they wrote, by number: also those that failed."""


@dataclass(frozen=True, slots=True)
class SubmissionHistory:
    """What crossed the border for one submission: the facts of its thread, and what was refused."""

    submission: SubmissionRow
    facts: Sequence[Fact]
    refusals: Sequence[RefusalRow]


def standing(caller: Caller, submission_id: str) -> Op[SubmissionStanding]:
    """One submission as it stands; ``SubmissionNotFound`` where there is none."""
    row = yield from row_of(caller, submission_id)
    storage = remote_of(caller).storage
    executions = yield from storage.executions([row.uid])
    results = (yield from storage.results(row.uid)) if executions else {}
    return SubmissionStanding(row, executions.get(row.uid, []), results)


def row_of(caller: Caller, submission_id: str) -> Op[SubmissionRow]:
    """The row of a submission; ``SubmissionNotFound`` where there is none."""
    uid = submission_uid(submission_id)
    found = (yield from remote_of(caller).storage.submissions(caller.tenant, [uid])) if uid is not None else {}
    if uid is None or uid not in found:
        raise SubmissionNotFound(
            "There is no such submission.", "Check its id; what belongs to another tenant cannot be seen."
        )
    return found[uid]


def submissions(
    caller: Caller, *, workspace_id: str | None = None, job_id: str | None = None, node: str | None = None,
    projection_state: ProjectionState | None = None, limit: int = 50, before: int | None = None,
) -> Op[SubmissionPage]:  # fmt: skip
    """Submissions, the newest first, keyset-paged by uid; ``NodeNotFound`` where the node is none.

    Go on below ``next_before`` until that is None: a page may be short, or empty, before that.
    """
    storage = remote_of(caller).storage
    uid = None
    if node is not None:
        found = yield from storage.node(caller.tenant, name=node)
        if found is None:
            raise no_such_node(node)
        uid = found.uid
    chosen = SubmissionFilter(workspace_id, job_id, uid, projection_state)
    return (yield from storage.list_submissions(caller.tenant, chosen, limit, before))


def history(caller: Caller, submission_id: str, *, after_seq: int = 0, limit: int = 1000) -> Op[SubmissionHistory]:
    """What crossed the border for a submission, in order; of what was refused, the newest."""
    row = yield from row_of(caller, submission_id)
    facts = yield from caller.store.facts(row.uid, after_seq, limit)
    refusals = yield from remote_of(caller).storage.refusals(caller.tenant, row.subject, limit, None)
    return SubmissionHistory(row, facts, [each.row for each in reversed(refusals)])
