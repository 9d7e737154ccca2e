"""What is asked of one run: signal, cancel, pause, resume, approve, reject, migrate; and what code inside a task keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tenure.engine import logging
from tenure.engine.caller import Caller
from tenure.flow.engine.advance import advance
from tenure.flow.engine.flow import Flow, flow_of
from tenure.flow.engine.moving import Moving, Verb, open_runs
from tenure.flow.engine.results import RunResult, result_of
from tenure.flow.engine.starting import log_run, no_run
from tenure.flow.engine.values import payload_ref
from tenure.flow.engine.workflows import workflow
from tenure.flow.journal import corrupt
from tenure.flow.model.deciders import Rights
from tenure.flow.model.decisions.cancel import decide_cancel
from tenure.flow.model.decisions.migrate import decide_migrate
from tenure.flow.model.decisions.pause import decide_pause, decide_resume
from tenure.flow.model.decisions.resolve import decide_resolve
from tenure.flow.model.decisions.signal import decide_signal
from tenure.flow.model.decisions.unfolding import Context, Decision
from tenure.flow.model.definition import WorkflowDefinition
from tenure.flow.model.facts import TYPES
from tenure.flow.model.requests import (
    CancelRun,
    MigrateRun,
    PauseRun,
    ResolveStep,
    ResumeRun,
    RunRequest,
    SignalRun,
)  # fmt: skip
from tenure.flow.model.state import RunState
from tenure.model.errors import NotFound, StateConflict
from tenure.model.json_text import payload_hash
from tenure.model.principal import PrincipalStatus
from tenure.store.operation import Op
from tenure.store.records import Target

Decide = Callable[[RunState, WorkflowDefinition, Any, Context], Decision]
_ALL = tuple(TYPES)


def cancel(caller: Caller, run: int, request: CancelRun) -> Op[RunResult]:
    """Stop a run: what is under way is canceled, what was done is undone where it can be. Child runs go with it."""
    return _ask(caller, "cancel_run", run, request, decide_cancel)


def pause(caller: Caller, run: int, request: PauseRun) -> Op[RunResult]:
    """Plan nothing more; what is under way goes on."""
    return _ask(caller, "pause_run", run, request, decide_pause)


def resume(caller: Caller, run: int, request: ResumeRun) -> Op[RunResult]:
    """Go on: from a pause of the whole run, or from a pause step."""
    return _ask(caller, "resume_run", run, request, decide_resume)


def resolve(caller: Caller, run: int, request: ResolveStep) -> Op[RunResult]:
    """Pass the manual boundary: approve, reject or resume."""
    rights = yield from rights_of(caller)

    def decide(state: RunState, of: WorkflowDefinition, asked: ResolveStep, context: Context) -> Decision:
        return decide_resolve(state, of, asked, replace(context, rights=rights))

    return (yield from _ask(caller, "resolve_step", run, request, decide))


def rights_of(caller: Caller) -> Op[Rights]:
    """What the caller may: by its credential; a trusted process has the roles of the principal in whose name it acts."""
    if caller.roles is not None:
        return Rights(caller.roles, trusted=False)
    principal = yield from caller.store.principal(caller.tenant, name=caller.actor)
    active = principal is not None and principal.status is PrincipalStatus.ACTIVE
    return Rights(frozenset(principal.roles) if principal is not None and active else frozenset())


def signal(caller: Caller, run: int, name: str, payload: Any = None, *, idempotency_key: str | None = None,
           expected_seq: int | None = None) -> Op[RunResult]:  # fmt: skip
    """Send a signal; its payload stays in the data tier."""
    return (
        yield from _told(
            caller,
            "signal_run",
            caller.store.transaction(_signal(caller, run, name, payload, idempotency_key, expected_seq)),
        )
    )


def signal_subject(
    caller: Caller, subject: int, name: str, payload: Any = None, *, idempotency_key: str | None = None
) -> Op[RunResult]:
    """Send a signal to the code of a job; a plain one becomes a run of one step by it."""
    op = _signal_subject(caller, subject, name, payload, idempotency_key)
    return (yield from _told(caller, "signal_run", caller.store.transaction(op)))


def _signal_subject(caller: Caller, subject: int, name: str, payload: Any, key: str | None) -> Op[RunResult]:
    from tenure.flow.engine.adopting import runnable_of_job  # noqa: PLC0415 - it asks runs itself

    thread = (yield from caller.store.load(caller.tenant, [Target((), subject=subject)])).threads.get(subject)
    if thread is None:
        raise NotFound("There is no such subject.", "Check its EUID; what belongs to another tenant cannot be seen.")
    if thread.envelope.terminal:
        raise StateConflict(
            f"The subject is {thread.envelope.state}: nothing waits for a signal any more.", "Submit it anew.",
            actual=str(thread.envelope.state),
        )  # fmt: skip
    runnable = yield from runnable_of_job(caller, thread)
    return (yield from _signal(caller, runnable.run, name, payload, key, None))


def migrate(caller: Caller, run: int, version: int, request: MigrateRun) -> Op[RunResult]:
    """Let a paused run go on under another version of its workflow."""
    return (yield from _told(caller, "migrate_run", caller.store.transaction(_migrate(caller, run, version, request))))


def _ask(caller: Caller, action: str, run: int, request: RunRequest, decide: Decide) -> Op[RunResult]:
    def verb(state: RunState, of: WorkflowDefinition, context: Context) -> Decision:
        return decide(state, of, request, context)

    return (yield from _told(caller, action, caller.store.transaction(perform(caller, run, request, verb))))


def _told(caller: Caller, action: str, op: Op[RunResult]) -> Op[RunResult]:
    elapsed = logging.stopwatch()
    result = yield from op
    if logging.wanted():
        log_run(caller, action, result, elapsed())
    return result


def perform(
    caller: Caller, run: int, request: RunRequest, verb: Callable[[RunState, WorkflowDefinition, Context], Decision],
    prepare: Callable[[Moving], None] | None = None,
) -> Op[RunResult]:  # fmt: skip
    """Make one decision on one run, and all that follows."""
    moving = yield from ask(caller, run, request.idempotency_key, verb, prepare)
    return result_of(moving)


def ask(
    caller: Caller, run: int, key: str | None, verb: Callable[[RunState, WorkflowDefinition, Context], Decision],
    prepare: Callable[[Moving], None] | None = None,
) -> Op[Moving]:  # fmt: skip
    """The same, with the run as it is afterwards. Within a transaction."""
    flow = flow_of(caller)
    moving = yield from open_run(flow, caller, run)
    replay = (yield from caller.store.prior_fact(run, _ALL, key)) if key is not None else None
    if prepare is not None and replay is None:
        prepare(moving)
    yield from advance(flow, caller, {run: [Verb(verb, replay)]}, opened={run: moving})
    return moving


def open_run(flow: Flow, caller: Caller, run: int) -> Op[Moving]:
    """One run under lock; ``RunUnknown``, or ``JournalCorrupt`` where it does not prove itself."""
    found = yield from open_runs(flow, caller, [run])
    if run in found:
        return found[run]
    if (yield from flow.storage.runs(caller.tenant, [run])):
        yield from flow.storage.journal.load(run)
        raise corrupt(run, 0, "checkpoint", "Its checkpoint does not fit its facts.")
    raise no_run(run)


def _signal(
    caller: Caller, run: int, name: str, payload: Any, key: str | None, expected_seq: int | None
) -> Op[RunResult]:
    uid = (yield from caller.store.fresh_uids(1))[0]
    told = (yield from caller.store.prior_fact(run, _ALL, key)) if key is not None else None
    # Sent again, it is compared by its hash; where the first payload is, is where it stays.
    ref = (told.data or {}).get("ref") if told is not None else payload_ref(uid) if payload is not None else None
    request = SignalRun(
        name=name, ref=ref, hash=payload_hash(payload).hex(), idempotency_key=key, expected_seq=expected_seq
    )

    def verb(state: RunState, of: WorkflowDefinition, context: Context) -> Decision:
        return decide_signal(state, of, request, context)

    def keep(moving: Moving) -> None:
        if payload is not None:
            moving.payloads[uid] = payload

    return (yield from perform(caller, run, request, verb, keep))


def _migrate(caller: Caller, run: int, version: int, request: MigrateRun) -> Op[RunResult]:
    flow = flow_of(caller)
    moving = yield from open_run(flow, caller, run)
    row = yield from workflow(caller, moving.row.name, version)
    after = (yield from flow.definitions(caller.tenant, [row.uid]))[row.uid]
    key = request.idempotency_key
    replay = (yield from caller.store.prior_fact(run, _ALL, key)) if key is not None else None

    def verb(state: RunState, before: WorkflowDefinition, context: Context) -> Decision:
        decision = decide_migrate(state, before, after, request, context)
        if decision.facts:
            moving.migrated(row.uid, after)
        return decision

    yield from advance(flow, caller, {run: [Verb(verb, replay)]}, opened={run: moving})
    return result_of(moving)
