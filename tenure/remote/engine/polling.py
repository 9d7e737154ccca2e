"""A node's poll: heartbeat, hold on what is not accepted yet, claim, and what is to be canceled (decision 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from tenure.engine.actions.claim import claim
from tenure.engine.actions.hold import hold
from tenure.engine.actions.renew import renew_all
from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.model.attempt import Attempt
from tenure.model.errors import QueueDisabled, QueueUnknown, WorkerNotAccepting
from tenure.model.requests import ClaimItems, PlaceHold, validated
from tenure.remote.engine.effects import fresh_token_hash
from tenure.remote.engine.remote import remote_of
from tenure.remote.engine.serving import beaten, own_node, served_seconds
from tenure.remote.model.contracts import NodeOrders, NodePoll, Placement, Work
from tenure.remote.model.execution import Execution
from tenure.remote.model.fields import ExecutionProfile, PayloadRef, ResourceShape
from tenure.remote.model.names import execution_id_of, queue_key_of, submission_id_of
from tenure.remote.port import Writing
from tenure.remote.rows import ExecutionRow, NodeRow, SubmissionRow
from tenure.store.operation import Op
from tenure.store.records import Claimed, Target

_THIRD, _QUARTER, _HALF = 3, 4, 2
Pair = tuple[ExecutionRow, SubmissionRow]


def poll(caller: Caller, name: str, said: NodePoll) -> Op[NodeOrders]:
    """What the node is to do now.

    Raises NodeNotFound, Forbidden where the caller is not bound to the node, NodeHasAgent for an agent of another state folder
    while the node's own may still submit, and WorkerSuperseded for one in whose place another has polled since.
    """
    op = caller.store.transaction(_poll(caller, name, said))
    return told(caller, "poll_node", op, lambda orders: {}, queue_key=queue_key_of(name))


def _poll(caller: Caller, name: str, said: NodePoll) -> Op[NodeOrders]:
    node = yield from own_node(caller, name, lock=True)
    now = yield from caller.store.clock()
    node = yield from beaten(caller, node, said, now)
    storage = remote_of(caller).storage
    told_of = yield from storage.open_executions(caller.tenant, node.uid)
    holding = set(said.holding)
    waiting = [pair for pair in told_of if pair[0].execution.wanted]
    again = [pair for pair in waiting if pair[0].execution.execution_id not in holding]
    yield from _held_on(caller, node, [row for row, _ in waiting])
    room = 0 if said.draining else said.accepting - len(again)
    told = holding | {row.execution.execution_id for row, _ in again}
    fresh = (yield from _taken(caller, node, room, now, told)) if room > 0 else []
    cancel = yield from _to_cancel(caller, [row for row, _ in told_of if not row.execution.wanted], said)
    spec = node.parsed()
    return NodeOrders(
        work=tuple(_work(caller, row, submission) for row, submission in [*again, *fresh]), cancel=tuple(cancel),
        renew_within_seconds=min(spec.silent_after_seconds / _THIRD, served_seconds(spec) / _QUARTER),
        # An agent of before, which names no folder, takes no answer that it does not know.
        submit_within_seconds=served_seconds(spec) / _HALF if said.folder_id is not None else None,
    )  # fmt: skip


def _held_on(caller: Caller, node: NodeRow, rows: Sequence[ExecutionRow]) -> Op[None]:
    """Renew the leases of what was handed out and is not accepted. What had lapsed is handed out again."""
    if not rows:
        return
    targets = [Target((), lease=row.execution.attempt) for row in rows]
    loaded = yield from caller.store.load(caller.tenant, targets)
    attempts = (loaded.threads[uid].attempts.get(lease) for lease, uid in loaded.subject_of_lease.items())
    held = [a for a in attempts if a is not None and _to_renew(a, node, loaded.now)]
    if held:
        leases = [(attempt.uid, loaded.token_hashes[attempt.uid]) for attempt in held]
        yield from renew_all(caller, node.worker, node.incarnation, leases)


def _to_renew(attempt: Attempt, node: NodeRow, now: datetime) -> bool:
    """Past half of its time, of this agent; what a former agent was given lapses, and is taken anew as the same."""
    if not attempt.live or attempt.expires_at is None or attempt.incarnation != node.incarnation:
        return False
    return timedelta(0) < attempt.expires_at - now < timedelta(seconds=(attempt.ttl_seconds or 0) / 2)


def _taken(caller: Caller, node: NodeRow, room: int, now: datetime, told_of: set[str]) -> Op[list[Pair]]:
    """Claim for the node, and give each claim its execution."""
    request = validated(
        ClaimItems, worker=node.worker, incarnation=node.incarnation, queue_key=queue_key_of(node.name),
        token_hash=fresh_token_hash(), limit=room,
    )  # fmt: skip
    try:
        items = (yield from claim(caller, request)).items
    except (QueueDisabled, QueueUnknown, WorkerNotAccepting):
        return []  # an operator has closed it; `why` says so of each subject
    if not items:
        return []
    storage = remote_of(caller).storage
    rows = yield from storage.submissions_of(caller.tenant, [item.subject for item in items])
    executions = yield from storage.executions([row.uid for row in rows.values()])
    writing = Writing(caller.tenant, actor=caller.actor)
    pairs = []
    for item in items:
        row = rows.get(item.subject)
        if row is None or row.node != node.uid:
            yield from _set_aside(caller, item, node, row)
            continue
        execution = _execution(row, executions.get(row.uid, []), item, node, now)
        writing.executions[row.uid, execution.execution.number] = execution
        if execution.execution.execution_id not in told_of:
            pairs.append((execution, row))
    if not writing.empty:
        yield from storage.write(writing)
    return pairs


def _set_aside(caller: Caller, item: Claimed, node: NodeRow, row: SubmissionRow | None) -> Op[None]:
    """What no node of that name was asked to run: a hold says so, instead of a job in a place that nobody named."""
    reason = f"Node {node.name} runs what was submitted to it; behind this stands no submission."
    if row is not None:
        reason = (
            f"It was submitted to node {row.node_name}; node {node.name} does not run it. Requeue it to its own node."
        )
    yield from hold(caller, PlaceHold(subject=item.subject, hold_code="NOT_SUBMITTED_HERE", reason=reason))


def _execution(
    row: SubmissionRow, before: Sequence[ExecutionRow], item: Claimed, node: NodeRow, now: datetime
) -> ExecutionRow:
    """The same execution as before where the node never said that it has it, else the next one."""
    last = before[-1] if before else None
    if last is not None and last.execution.state is None and last.execution.wanted:
        return replace(last, execution=replace(last.execution, attempt=item.lease), node=node.uid)
    number = last.execution.number + 1 if last is not None else 1
    execution_id = execution_id_of(submission_id_of(row.uid), number)
    return ExecutionRow(row.uid, row.tenant, node.uid, Execution(number, execution_id, item.lease), now)


def _to_cancel(caller: Caller, rows: Sequence[ExecutionRow], said: NodePoll) -> Op[list[str]]:
    """What the node holds and nobody waits for. What was never written down there is told no more."""
    holding, canceling = set(said.holding), set(said.canceling)
    writing = Writing(caller.tenant, actor=caller.actor)
    cancel = []
    for row in rows:
        execution = row.execution
        if execution.state is None and execution.execution_id not in holding | canceling:
            writing.executions[row.submission, execution.number] = replace(row, open=False)
        elif execution.execution_id not in canceling:
            cancel.append(execution.execution_id)
    if not writing.empty:
        yield from remote_of(caller).storage.write(writing)
    return cancel


def _work(caller: Caller, row: ExecutionRow, submission: SubmissionRow) -> Work:
    command = submission.command
    return Work(
        submission_id=submission_id_of(submission.uid), execution_id=row.execution.execution_id,
        attempt=row.execution.number, tenant_id=caller.tenant_key, workspace_id=submission.workspace_id,
        job_id=submission.job_id, trace_id=submission.trace_id,
        queue_name=ExecutionProfile.model_validate(command["execution_profile"]).queue_name,
        placement=Placement.model_validate(dict(submission.placement)),
        resource_shape=ResourceShape.model_validate(command["resource_shape"]),
        payload_ref=PayloadRef.model_validate(command["payload_ref"]),
    )  # fmt: skip
