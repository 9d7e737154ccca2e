"""start, replay, retry: how runs begin (design 02, API)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenure.engine import logging
from tenure.engine.caller import Caller
from tenure.flow.engine.advance import advance
from tenure.flow.engine.beginning import Start, begin_plainly
from tenure.flow.engine.deciding import input_problem, new_run, starting
from tenure.flow.engine.flow import Flow, flow_of
from tenure.flow.engine.moving import Moving, Verb, fold_runs
from tenure.flow.engine.results import RunResult, result_of
from tenure.flow.engine.workflows import unknown
from tenure.flow.engine.workflows import workflow as read_workflow
from tenure.flow.handing_over import ShortCut
from tenure.flow.journal import JournalConflict, JournalCorrupt
from tenure.flow.model.decisions.again import decide_replay, decide_retry
from tenure.flow.model.decisions.start import same_run
from tenure.flow.model.errors import RunKeyConflict, RunUnknown
from tenure.flow.model.requests import ReplayRun, RetryRun, StartRun
from tenure.flow.rows import WorkflowRow
from tenure.model import euid
from tenure.model.errors import InvalidPayload, NotFound, TenureError
from tenure.model.json_text import payload_hash
from tenure.store.operation import Op

_TRIES = 3


Started = RunResult | TenureError


def start(caller: Caller, request: Start) -> Op[RunResult]:
    """Start one run; ``RunKeyConflict`` where its key belongs to a run with another input or definition."""
    outcome = (yield from start_many(caller, [request]))[0]
    if isinstance(outcome, TenureError):
        raise outcome
    return outcome


def start_many(caller: Caller, requests: Sequence[Start]) -> Op[list[Started]]:
    """Start many in one transaction; a result or an error for each."""
    elapsed = logging.stopwatch()
    outcomes: list[Started] = []
    for attempt in range(1, _TRIES + 1):
        try:
            outcomes = yield from _start_all(caller, requests)
        except JournalConflict:
            # Somebody else began a run under one of the keys at the same moment: now it is there.
            if attempt == _TRIES:
                raise
        else:
            break
    if logging.wanted():
        for outcome in outcomes:
            log_run(caller, "start_run", outcome, elapsed())
    return outcomes


def _start_all(caller: Caller, requests: Sequence[Start]) -> Op[list[Started]]:
    flow = flow_of(caller)
    if flow.storage.short_cut is None or all(r.key is not None or r.root is not None for r in requests):
        return (yield from caller.store.transaction(_start(flow, caller, requests)))
    starting_both_ways = _start_both_ways(flow, flow.storage.short_cut, caller, requests)
    # What is one statement is a transaction of its own; and of one alone there is only the one or the other.
    return (yield from (starting_both_ways if len(requests) == 1 else caller.store.transaction(starting_both_ways)))


def _start_both_ways(flow: Flow, short: ShortCut, caller: Caller, requests: Sequence[Start]) -> Op[list[Started]]:
    """By the short cut what it takes, the others by the common way."""
    rows = yield from _workflows(flow, caller, requests)
    begun = yield from begin_plainly(flow, short, caller.without_followers(), requests, rows)
    left = [index for index in range(len(requests)) if index not in begun]
    rest: dict[int, Started] = {}
    if left:
        started = yield from caller.store.transaction(_start(flow, caller, [requests[index] for index in left]))
        rest = dict(zip(left, started, strict=True))
    return [begun[index] if index in begun else rest[index] for index in range(len(requests))]


def _start(flow: Flow, caller: Caller, requests: Sequence[Start]) -> Op[list[Started]]:
    rows = yield from _workflows(flow, caller, requests)
    definitions = yield from flow.definitions(caller.tenant, [row.uid for row in rows.values() if row is not None])
    keys = sorted({(r.workflow, r.key) for r in requests if r.key is not None})
    known = (yield from flow.storage.find_runs(caller.tenant, keys)) if keys else {}
    there = (yield from fold_runs(flow, caller, [run.uid for run in known.values()])) if known else {}
    roots = {r.root for r in requests if r.root is not None}
    rooted = (yield from caller.store.known_subjects(caller.tenant, roots)) if roots else set()
    uids = yield from caller.store.fresh_uids(len(requests))
    now = yield from caller.store.clock()
    outcomes: list[Started | None] = []
    begin: dict[int, tuple[Moving, Sequence[Verb]]] = {}
    named: dict[tuple[str, str], tuple[int, StartRun]] = {}
    for request, uid in zip(requests, uids, strict=True):
        row = rows[request.workflow, request.version]
        if row is None:
            outcomes.append(unknown(request.workflow, request.version))
            continue
        definition = definitions[row.uid]
        try:
            wanted = StartRun(
                key=request.key,
                input_hash=payload_hash(request.input).hex(),
                trigger=request.trigger,
                root=request.root,
            )
            if request.key is not None and (run := known.get((request.workflow, request.key))) is not None:
                if run.uid not in there:
                    raise JournalCorrupt("The run of this key does not prove itself.", "See `tenure verify`.")
                same_run(there[run.uid].state, definition, wanted)
                outcomes.append(result_of(there[run.uid], replayed=True))
                continue
            if request.key is not None and (request.workflow, request.key) in named:
                first, asked = named[request.workflow, request.key]
                _same(asked, wanted)
                outcomes.append(None)
                begin[uid] = begin[first]
                continue
            _check_input(definition, request.input)
            if request.root is not None and request.root not in rooted:
                raise NotFound("The root does not exist.", "Give the EUID of a subject of this tenant.")
        except TenureError as error:
            outcomes.append(error)
            continue
        moving = new_run(caller, uid, row, definition, request.input, wanted, now, request.correlation_id)
        begin[uid] = (moving, [starting(uid, wanted)])
        if request.key is not None:
            named[request.workflow, request.key] = (uid, wanted)
        outcomes.append(None)
    chosen = list({id(moving): (moving, verbs) for moving, verbs in begin.values()}.values())
    yield from advance(flow, caller, {}, chosen, now=now)
    return [
        outcome if outcome is not None else result_of(begin[uid][0], replayed=begin[uid][0].uid != uid)
        for outcome, uid in zip(outcomes, uids, strict=True)
    ]


def _same(first: StartRun, second: StartRun) -> None:
    if first.input_hash != second.input_hash:
        raise RunKeyConflict("The same key comes twice with different inputs.", "Give each run a key of its own.")


def _check_input(definition: Any, value: Any) -> None:
    if (problem := input_problem(definition, value)) is not None:
        raise InvalidPayload(
            f"The input breaks the schema of workflow {definition.name!r}: {problem}.",
            "Correct the input; nothing was started.", workflow=definition.name,
        )  # fmt: skip


def _workflows(
    flow: Flow, caller: Caller, requests: Sequence[Start]
) -> Op[Mapping[tuple[str, int | None], WorkflowRow | None]]:
    found: dict[tuple[str, int | None], WorkflowRow | None] = {}
    for name in dict.fromkeys((r.workflow, r.version) for r in requests):
        found[name] = yield from flow.storage.workflow(caller.tenant, *name)
    return found


def replay(caller: Caller, run: int, request: ReplayRun, version: int | None = None) -> Op[RunResult]:
    """A new run from the input of another, by the newest version or the one named (design 02, API)."""
    return (yield from caller.store.transaction(_again(caller, run, request, version)))


def retry(caller: Caller, run: int, request: RetryRun) -> Op[RunResult]:
    """A new run that keeps what another did before the step that failed, by the same version."""
    return (yield from caller.store.transaction(_again(caller, run, request, None)))


def _again(caller: Caller, run: int, request: ReplayRun | RetryRun, version: int | None) -> Op[RunResult]:
    flow = flow_of(caller)
    source = (yield from fold_runs(flow, caller, [run])).get(run)
    if source is None:
        raise no_run(run)
    retrying = isinstance(request, RetryRun)
    row = yield from read_workflow(caller, source.row.name, source.state.version if retrying else version)
    definition = (yield from flow.definitions(caller.tenant, [row.uid]))[row.uid]
    existing = None
    if request.key is not None:
        known = yield from flow.storage.find_runs(caller.tenant, [(source.row.name, request.key)])
        uids = [found.uid for found in known.values()]
        existing = next(iter((yield from fold_runs(flow, caller, uids)).values()), None) if uids else None
    uid = (yield from caller.store.fresh_uids(1))[0]
    now = yield from caller.store.clock()
    assert source.state.input_hash is not None
    asked = StartRun(key=request.key, input_hash=source.state.input_hash, root=source.row.root or source.uid)
    moving = existing or new_run(caller, uid, row, definition, source.row.input, asked, now, source.row.correlation_id)
    known_state = existing.state if existing is not None else None

    def decide(_: Any, of: Any, context: Any) -> Any:
        if isinstance(request, RetryRun):
            return decide_retry(uid, source.state, of, request, context, known_state)
        return decide_replay(uid, source.state, of, request, context, known_state)

    yield from advance(flow, caller, {}, [(moving, [Verb(decide)])], now=now)
    return result_of(moving, replayed=existing is not None)


def no_run(run: int) -> RunUnknown:
    """The error for a run that is not there."""
    return RunUnknown(
        "There is no such run.", "Check its EUID; what belongs to another tenant cannot be seen.",
        run=euid.format_euid(euid.RUN, run),
    )  # fmt: skip


def log_run(caller: Caller, action: str, outcome: Started, duration_ms: float) -> None:
    """The line of an action on a run."""
    if isinstance(outcome, RunResult):
        logging.log_action(
            caller, action, duration_ms, outcome="replayed" if outcome.replayed else "done", seq=outcome.seq,
            terminal_status=outcome.status, subject=outcome.run,
        )  # fmt: skip
    else:
        logging.log_action(caller, action, duration_ms, outcome="refused", code=outcome.code)
