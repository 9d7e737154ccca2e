"""submit_job: a command becomes a subject before the node's queue, once for each idempotency key (S5, design 04)."""

from __future__ import annotations

import uuid
from typing import Any

from tenure.engine.actions.submit import submit
from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.model import fact_types as ft
from tenure.model.errors import AlreadyExists, Forbidden, IdempotencyConflict
from tenure.model.requests import SubmitSubject, validated
from tenure.remote.engine.nodes import no_such_node
from tenure.remote.engine.remote import remote_of
from tenure.remote.engine.telling import Telling
from tenure.remote.engine.wording import display_message
from tenure.remote.model.contracts import Placement, ProjectionUpdate, SubmissionAccepted, SubmitJobCommand
from tenure.remote.model.errors import ExecutionUnavailable
from tenure.remote.model.names import TEMPLATE, projection_event_id_of, queue_key_of, submission_id_of
from tenure.remote.model.policy import placed
from tenure.remote.model.projection import Projection
from tenure.remote.model.signals import command_hash, signal
from tenure.remote.rows import NodeRow, SubmissionRow
from tenure.store.operation import Op
from tenure.store.records import Refused

ACTION = "submit_job"


def submit_job(caller: Caller, command: SubmitJobCommand) -> Op[SubmissionAccepted]:
    """The first answer to the command, also where it comes again.

    Raises Forbidden for another tenant's command, NodeNotFound, IdempotencyConflict where the key came with another
    command, PolicyRejected, and ExecutionUnavailable where the node is silent.
    """
    key = command.idempotency_key
    queue_key = queue_key_of(command.management_node_id)
    return told(caller, ACTION, _submitted(caller, command), lambda _: {}, queue_key=queue_key, idempotency_key=key)


def _submitted(caller: Caller, command: SubmitJobCommand) -> Op[SubmissionAccepted]:
    if command.tenant_id != caller.tenant_key:
        raise Forbidden("The command is of another tenant.", "Submit with a credential of that tenant.")
    try:
        row = yield from caller.store.transaction(_submit(caller, command))
    except AlreadyExists:
        # The same command at the same moment: now it is there to be answered from.
        row = yield from caller.store.transaction(_submit(caller, command))
    if row.command_hash != command_hash(command):
        message = f"The idempotency key {command.idempotency_key!r} came with another command before."
        yield from caller.store.refuse(
            caller.tenant, [Refused(IdempotencyConflict.code, ACTION, caller.actor, message, subject=row.subject)]
        )
        raise IdempotencyConflict(
            message, "Use a new key for a new command, or send the first command again to get the first answer.",
            idempotency_key=command.idempotency_key,
        )  # fmt: skip
    return answer(row)


def answer(row: SubmissionRow) -> SubmissionAccepted:
    """What is answered to a command, however often it comes."""
    return SubmissionAccepted(
        job_id=row.job_id, submission_id=submission_id_of(row.uid), execution_owner=row.node_name,
        accepted_at=row.accepted_at, trace_id=row.trace_id,
    )  # fmt: skip


def _submit(caller: Caller, command: SubmitJobCommand) -> Op[SubmissionRow]:
    storage = remote_of(caller).storage
    known = yield from storage.find_submission(caller.tenant, command.workspace_id, command.idempotency_key)
    if known is not None:
        return known
    node = yield from storage.node(caller.tenant, name=command.management_node_id)
    if node is None:
        raise no_such_node(command.management_node_id)
    placement = placed(node.name, node.parsed(), command.execution_profile, command.resource_shape)
    yield from _check_available(caller, node)
    return (yield from _create(caller, command, node, placement))


def _check_available(caller: Caller, node: NodeRow) -> Op[None]:
    now = yield from caller.store.clock()
    queue_key = queue_key_of(node.name)
    queue = (yield from caller.store.queues(caller.tenant, [queue_key])).get(queue_key)
    if queue is None or not queue.enabled:
        why = (queue.disabled_reason if queue is not None else None) or "its queue is closed"
        raise ExecutionUnavailable(f"Node {node.name} takes nothing: {why}.", "Try again later.", retry_after=60)
    if node.silent(now):
        since = f"since {node.polled_at.isoformat(timespec='seconds')}" if node.polled_at is not None else "so far"
        raise ExecutionUnavailable(
            f"Node {node.name} is silent: it has not polled {since}.",
            "Try again later; whoever runs the node looks at its agent.", retry_after=30, polled_at=node.polled_at,
        )  # fmt: skip


def _create(caller: Caller, command: SubmitJobCommand, node: NodeRow, placement: Placement) -> Op[SubmissionRow]:
    uid = (yield from caller.store.fresh_uids(1))[0]
    submission_id = submission_id_of(uid)
    trace_id = command.trace_id or uuid.uuid4().hex
    request = validated(
        SubmitSubject, template=TEMPLATE, queue_key=queue_key_of(node.name), name=command.job_id.strip() or None,
        external_ref=f"submission:{submission_id}", correlation_id=command.job_id,
        properties=_properties(command, submission_id, placement),
    )  # fmt: skip
    submitted = yield from submit(caller, request)
    now = yield from caller.store.clock()
    wire = command.wire()
    projection = Projection()
    row = SubmissionRow(
        uid=uid, tenant=caller.tenant, subject=submitted.subject, node=node.uid, node_name=node.name,
        workspace_id=command.workspace_id, job_id=command.job_id, idempotency_key=command.idempotency_key,
        command=wire, command_hash=command_hash(command), placement=placement.wire(), trace_id=trace_id, accepted_at=now,
        projection_state=projection.state, projection_round=projection.round, source_execution_state=None,
        projected_at=now, display_message=display_message(projection, node.name, None),
    )  # fmt: skip
    telling = Telling(caller, now)
    told_of = {
        "submission_id": submission_id, "job_id": row.job_id, "workspace_id": row.workspace_id, "node": node.name,
        "subject": row.subject, "placement": row.placement, "resource_shape": wire["resource_shape"],
        "execution_profile": wire["execution_profile"], "user_id": command.requested_by.user_id,
    }  # fmt: skip
    row = telling.tell(row, ft.SUBMISSION_ACCEPTED, told_of, key=row.idempotency_key, proof=row.command_hash)
    update = ProjectionUpdate(
        projection_event_id=projection_event_id_of(submission_id, projection.round, projection.stage),
        tenant_id=caller.tenant_key, workspace_id=row.workspace_id, job_id=row.job_id, submission_id=submission_id,
        projection_state=projection.state, projection_round=projection.round, occurred_at=now, trace_id=trace_id,
        display_message=row.display_message,
    )  # fmt: skip
    row = telling.tell(row, ft.PROJECTION_UPDATED, signal(update.wire()), key=update.projection_event_id)
    telling.writing.born.add(row.uid)
    yield from remote_of(caller).storage.write(telling.writing)
    return row


def _properties(command: SubmitJobCommand, submission_id: str, placement: Placement) -> dict[str, Any]:
    wire = command.wire()
    kept = ("workspace_id", "job_id", "management_node_id", "execution_profile", "resource_shape", "payload_ref")
    return {name: wire[name] for name in kept} | {"submission_id": submission_id, "placement": placement.wire()}
