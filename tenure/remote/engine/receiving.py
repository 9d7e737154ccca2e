"""Execution events: deduplicated, checked, joined to their attempt, and applied in one transaction (S5; decision 13)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tenure.engine.acting import context_of
from tenure.engine.caller import Caller
from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import Unfolding
from tenure.model.errors import Conflict, Forbidden, StoreUnavailable, TenureError
from tenure.model.roles import Permission
from tenure.remote.engine.effects import Effects
from tenure.remote.engine.events_log import log_event
from tenure.remote.engine.remote import Remote, remote_of
from tenure.remote.engine.telling import Telling
from tenure.remote.model.contracts import EventOutcome, EventReceived, ExecutionEvent
from tenure.remote.model.errors import SubmissionNotFound
from tenure.remote.model.execution import Execution, check_joins, meant, moved
from tenure.remote.model.fields import ExecutionState
from tenure.remote.model.names import queue_key_of, submission_uid
from tenure.remote.model.signals import event_hash, event_signal
from tenure.remote.rows import ExecutionRow, NodeRow, SubmissionRow
from tenure.store.operation import Op
from tenure.store.records import Refused, Target

ACTION = "receive_execution_event"
REUSED = "event_id_reused"
"""The code under which it is kept that an event_id came again with another content."""
CHUNK = 100
"""Events of one transaction."""
Outcome = EventReceived | TenureError


def receive_events(caller: Caller, events: Sequence[ExecutionEvent]) -> Op[list[Outcome]]:
    """Take events in, in order: what became of each. A refused one changes nothing and leaves the others alone.

    A caller that is a principal reports for the node that it is bound to; one that is trusted, for any. Raises Forbidden
    where the principal is bound to no node.
    """
    outcomes = yield from take_in(caller, events)
    for event, outcome in zip(events, outcomes, strict=True):
        tell_outcome(event, outcome)
    return outcomes


def tell_outcome(event: ExecutionEvent, outcome: Outcome) -> None:
    """Write the line of an event."""
    if isinstance(outcome, TenureError):
        log_event(event.wire(), "refused", outcome.code)
    else:
        log_event(event.wire(), str(outcome.outcome), projection_state=str(outcome.projection_state))


def take_in(caller: Caller, events: Sequence[ExecutionEvent]) -> Op[list[Outcome]]:
    """The same without the lines, for whoever writes them himself."""
    storage = remote_of(caller).storage
    node = None
    if caller.principal is not None:
        node = yield from storage.node(caller.tenant, principal=caller.principal)
        if node is None:
            # As a role that is missing: what is wrong is who sends, not the event. Its sender keeps it and sends it again.
            raise Forbidden(
                "You are bound to no management node.", "Ask an admin: tenure node define.",
                permission=str(Permission.EXECUTE),
            )  # fmt: skip
    outcomes: list[Outcome] = []
    for first in range(0, len(events), CHUNK):
        chunk = events[first : first + CHUNK]
        outcomes += yield from caller.store.transaction(_Receiving(caller, node).receive(chunk))
    return outcomes


@dataclass(slots=True)
class _Working:
    """One submission while events are applied to it."""

    row: SubmissionRow
    executions: list[ExecutionRow]
    unfolding: Unfolding
    node: NodeRow

    def put(self, row: ExecutionRow) -> None:
        """An execution has moved."""
        same = row.execution.number
        self.executions = [row if each.execution.number == same else each for each in self.executions]


class _Receiving:
    """Events of one transaction."""

    def __init__(self, caller: Caller, node: NodeRow | None) -> None:
        self._caller = caller
        self._node = node
        self._storage = remote_of(caller).storage
        self._found: dict[int, SubmissionRow] = {}
        self._working: dict[int, _Working] = {}
        self._known: dict[tuple[str, str], bytes] = {}
        self._refusals: list[Refused] = []
        self._told: dict[int, int] = {}
        """How many facts of each submission's subject its projection has followed."""

    def receive(self, events: Sequence[ExecutionEvent]) -> Op[list[Outcome]]:
        """What became of each."""
        telling, effects = yield from self._open(events)
        outcomes = [self._outcome(event, telling, effects) for event in events]
        yield from self._write(telling)
        return outcomes

    def _open(self, events: Sequence[ExecutionEvent]) -> Op[tuple[Telling, Effects]]:
        """Lock and read what the events are about. Only after the lock of the subject are its rows read."""
        caller, storage = self._caller, self._storage
        uids = {uid for event in events if (uid := submission_uid(event.submission_id)) is not None}
        before = (yield from storage.submissions(caller.tenant, sorted(uids))) if uids else {}
        nodes = yield from self._nodes({row.node for row in before.values()})
        mine = [row for row in before.values() if row.node in nodes]
        targets = [Target((), subject=row.subject) for row in mine]
        workers = {node.worker for node in nodes.values()}
        loaded = yield from caller.store.load(
            caller.tenant, targets, {queue_key_of(r.node_name) for r in mine}, workers
        )
        self._found = dict(before)
        if mine:
            self._found |= yield from storage.submissions(caller.tenant, [row.uid for row in mine])
            executions = yield from storage.executions([row.uid for row in mine])
            for uid in [row.uid for row in mine]:
                row = self._found[uid]
                unfolding = Unfolding.of(loaded.threads[row.subject])
                self._working[uid] = _Working(row, executions.get(uid, []), unfolding, nodes[row.node])
            ids = [(source_of(self._found[uid]), e.event_id) for e in events if (uid := _uid(e)) in self._working]
            self._known = dict((yield from storage.known_events(caller.tenant, ids)))
        return Telling(caller, loaded.now), Effects(context_of(caller, loaded), loaded.token_hashes)

    def _nodes(self, uids: set[int]) -> Op[dict[int, NodeRow]]:
        """The nodes that the caller may report for, of those that are asked for."""
        if self._node is not None:
            return {self._node.uid: self._node}
        found: dict[int, NodeRow] = {}
        for uid in sorted(uids):
            node = yield from self._storage.node(self._caller.tenant, uid=uid)
            if node is not None:
                found[uid] = node
        return found

    def _outcome(self, event: ExecutionEvent, telling: Telling, effects: Effects) -> Outcome:
        try:
            return self._apply(event, telling, effects)
        except TenureError as error:
            working = self._working.get(_uid(event))
            if isinstance(error, Conflict | Forbidden):
                subject = working.row.subject if working is not None else None
                self._refuse(error.code, error.message, subject)
            return error

    def _apply(self, event: ExecutionEvent, telling: Telling, effects: Effects) -> EventReceived:
        if event.tenant_id != self._caller.tenant_key:
            raise Forbidden("The event is of another tenant.", "Report with the credential of that tenant.")
        if _uid(event) not in self._found:
            raise SubmissionNotFound(
                "There is no such submission.", "Repeat the submission_id as it came with the work."
            )
        working = self._working.get(_uid(event))
        if working is None:
            raise Forbidden("The submission belongs to another management node.", "Report of your own work only.")
        name = (source_of(working.row), event.event_id)
        digest = event_hash(event)
        if name in self._known:
            return self._duplicate(event, working, self._known[name] != digest)
        check_joins(working.row, event)
        execution = meant([row.execution for row in working.executions], event)
        after = moved(execution, event)
        applied, after = effects.apply(working.unfolding, after, event, working.node)
        row = self._tell(event, working, after, applied, telling)
        self._known[name] = telling.writing.events[name] = digest
        outcome = EventOutcome.APPLIED if applied else EventOutcome.KEPT
        return _received(event, outcome, row.execution, working)

    def _tell(
        self, event: ExecutionEvent, working: _Working, after: Execution, applied: bool, telling: Telling
    ) -> ExecutionRow:
        """The facts and rows of an event that is taken in."""
        before = next(row for row in working.executions if row.execution.number == after.number)
        if not applied and not after.ended:
            after = replace(after, wanted=False)
            telling.writing.hints.add(queue_key_of(working.row.node_name))
        row = _at(
            replace(before, execution=after, open=not after.ended, status_detail=event.status_detail), telling.now
        )
        working.put(row)
        telling.execution(row)
        working.row = telling.tell(
            working.row, ft.EVENT_RECEIVED, event_signal(event, after.number, applied), key=event.event_id,
            proof=event_hash(event), trace_id=event.trace_id,
        )  # fmt: skip
        unfolding = working.unfolding
        fresh = unfolding.facts[self._told.get(working.row.uid, 0) :]
        self._told[working.row.uid] = len(unfolding.facts)
        working.row = telling.project(working.row, fresh, unfolding.details, event.result_ref)
        return row

    def _duplicate(self, event: ExecutionEvent, working: _Working, differs: bool) -> EventReceived:
        if differs:
            message = f"Event {event.event_id!r} came again and says something else; what it said first holds."
            self._refuse(REUSED, message, working.row.subject)
        known = [row.execution for row in working.executions if row.execution.execution_id == event.execution_id]
        return _received(event, EventOutcome.DUPLICATE, known[0] if known else None, working)

    def _refuse(self, code: str, message: str, subject: int | None) -> None:
        self._refusals.append(Refused(code, ACTION, self._caller.actor, message, subject=subject))

    def _write(self, telling: Telling) -> Op[None]:
        changed = [w.unfolding for w in self._working.values() if w.unfolding.facts]
        yield from self._caller.store.apply(changed)
        if changed:
            for follow in self._caller.followers:
                if not isinstance(follow, Remote):  # which is what is done here, event by event
                    yield from follow(self._caller, changed)
        if not telling.writing.empty and not (yield from self._storage.write(telling.writing)):
            raise StoreUnavailable("One of the events came twice at the same moment.", "Send them again as they are.")
        yield from self._caller.store.refuse(self._caller.tenant, self._refusals)


def source_of(row: SubmissionRow) -> str:
    """Whose ids of events they are: each node's are its own."""
    return queue_key_of(row.node_name)


def _at(row: ExecutionRow, now: datetime) -> ExecutionRow:
    """When it came to its present state."""
    if row.execution.state is ExecutionState.ACCEPTED:
        return replace(row, accepted_at=now)
    return replace(row, running_at=now) if row.execution.state is ExecutionState.RUNNING else replace(row, ended_at=now)


def _uid(event: ExecutionEvent) -> int:
    return submission_uid(event.submission_id) or 0


def _received(
    event: ExecutionEvent, outcome: EventOutcome, execution: Execution | None, working: _Working
) -> EventReceived:
    return EventReceived(
        event_id=event.event_id, outcome=outcome, submission_id=event.submission_id, execution_id=event.execution_id,
        state=execution.state if execution is not None else None, projection_state=working.row.projection_state,
    )  # fmt: skip
