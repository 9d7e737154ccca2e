"""What is told to a submission's thread within one transaction, and the rows that stand for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import Unfolding
from tenure.model.fact import Fact, check_data
from tenure.model.states import State
from tenure.remote.engine.wording import display_message, failure_of, result_of
from tenure.remote.model.contracts import ProjectionUpdate
from tenure.remote.model.fields import ResultRef
from tenure.remote.model.names import projection_event_id_of, queue_key_of, submission_id_of
from tenure.remote.model.projection import Projection, projected
from tenure.remote.model.signals import signal
from tenure.remote.port import Writing
from tenure.remote.rows import ExecutionRow, SubmissionRow

Details = Mapping[int, Mapping[str, Any]]
_RELEASING = frozenset({ft.REQUEUED, ft.HOLD_PLACED})


@dataclass(slots=True)
class Telling:
    """Gathers facts and rows; ``writing`` is what the storage is to write."""

    caller: Caller
    now: datetime
    writing: Writing = field(init=False)

    def __post_init__(self) -> None:
        self.writing = Writing(self.caller.tenant, actor=self.caller.actor)

    def tell(
        self, row: SubmissionRow, type_: str, data: Mapping[str, Any], *, key: str | None = None,
        proof: bytes | None = None, trace_id: str | None = None,
    ) -> SubmissionRow:  # fmt: skip
        """Append a fact to the thread of the submission; the row as it stands after it."""
        check_data(data)
        fact = Fact(
            row.uid, row.seq + 1, type_, self.now, row.tenant, self.caller.actor, data=data, idempotency_key=key,
            payload_hash=proof, correlation_id=row.job_id, trace_id=trace_id or row.trace_id,
        )  # fmt: skip
        fact.hash = fact.content_hash(row.head)
        self.writing.facts.append(fact)
        row = replace(row, seq=fact.seq, head=fact.hash)
        self.writing.submissions[row.uid] = row
        return row

    def project(
        self, row: SubmissionRow, facts: Iterable[Fact], details: Details, left: ResultRef | None = None
    ) -> SubmissionRow:
        """Let the projection follow new facts of the subject; ``left`` is what the event that moved it told of results."""
        for fact in facts:
            after = projected(row.projection, fact)
            if after != row.projection:
                row = self.update(row, after, fact, details, left)
        return row

    def update(
        self, row: SubmissionRow, after: Projection, fact: Fact, details: Details, left: ResultRef | None = None
    ) -> SubmissionRow:
        """Tell the product of a projection that has moved."""
        failed = failure_of(after, fact, details)
        result = result_of(after, fact, details, left)
        submission_id = submission_id_of(row.uid)
        update = ProjectionUpdate(
            projection_event_id=projection_event_id_of(submission_id, after.round, after.stage),
            tenant_id=self.caller.tenant_key, workspace_id=row.workspace_id, job_id=row.job_id,
            submission_id=submission_id, projection_state=after.state, projection_round=after.round,
            source_execution_state=after.source, occurred_at=fact.at, trace_id=row.trace_id,
            display_message=display_message(after, row.node_name, failed), result_ref=result, failure=failed,
        )  # fmt: skip
        row = replace(
            row, projection_state=after.state, projection_round=after.round, source_execution_state=after.source,
            projected_at=fact.at, display_message=update.display_message,
            result_ref=result.wire() if result is not None else None,
            failure=failed.wire() if failed is not None else None,
        )  # fmt: skip
        return self.tell(row, ft.PROJECTION_UPDATED, signal(update.wire()), key=update.projection_event_id)

    def execution(self, row: ExecutionRow) -> None:
        """Keep how an execution stands."""
        self.writing.executions[row.submission, row.execution.number] = row

    def let_go(self, row: SubmissionRow, executions: Iterable[ExecutionRow], unfolding: Unfolding) -> None:
        """Have the node end executions that the subject does not wait for any more."""
        for each in executions:
            execution = each.execution
            if execution.wanted and not execution.ended and not _waited_for(each, unfolding):
                self.execution(replace(each, execution=replace(execution, wanted=False)))
                self.writing.hints.add(queue_key_of(row.node_name))


def _waited_for(row: ExecutionRow, unfolding: Unfolding) -> bool:
    attempt = unfolding.thread.attempts.get(row.execution.attempt)
    if attempt is not None and attempt.live:
        return True
    # What lapsed before the node said that it has it is handed out again, as the same execution.
    state = unfolding.envelope.state
    released = any(fact.type in _RELEASING for fact in unfolding.facts)
    return row.execution.state is None and state in (State.READY, State.FAILED_RETRYABLE) and not released
