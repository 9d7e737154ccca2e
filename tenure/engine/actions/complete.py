"""complete_queue_execution: work is done (S1 section 4.3).

The plain case (no key, no next queue, no outputs, one slot) is one hot statement for the whole set; what it leaves is
decided one by one, so that a replay, a lapsed lease or a wrong token gets its exact answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from tenure.engine import logging
from tenure.engine.acting import ActionSpec, Outcome, act, single
from tenure.engine.caller import Caller, Finisher
from tenure.engine.tracing import span
from tenure.model import euid
from tenure.model import fact_types as ft
from tenure.model.decisions.complete import decide_complete
from tenure.model.errors import NotFound, TenureError
from tenure.model.json_text import canonical_json
from tenure.model.requests import CompleteExecution
from tenure.model.result import ActionResult
from tenure.model.transitions import Action
from tenure.store.operation import Op
from tenure.store.records import Finish

SPEC: ActionSpec[CompleteExecution] = ActionSpec(
    Action.COMPLETE, (ft.COMPLETED,), decide_complete, queue_keys=lambda r: (r.next_queue_key,), ends_lease=True
)


def complete_many(caller: Caller, requests: Sequence[CompleteExecution]) -> Op[list[Outcome]]:
    """The set form, one transaction: a result or an error for each request.

    A set of plain completions of one worker is one statement; what that leaves undone (a replay, a lease that ran out, a
    shared subject) is decided after it, in a transaction of its own.
    """
    outcomes = yield from _unacceptable(caller, requests)
    asked = [r for r, refused in zip(requests, outcomes, strict=True) if refused is None]
    ways = {r.worker if _is_plain(r) else None for r in asked}
    completing = _complete(caller, requests, outcomes)
    return (yield from (completing if len(ways) <= 1 else caller.store.transaction(completing)))


def _complete(
    caller: Caller, requests: Sequence[CompleteExecution], refused: Sequence[Outcome | None]
) -> Op[list[Outcome]]:
    outcomes = list(refused)
    plain = [r for r, outcome in zip(requests, outcomes, strict=True) if outcome is None and _is_plain(r)]
    done: dict[int, ActionResult] = {}
    for worker, group in groupby(sorted(plain, key=lambda r: r.worker), key=lambda r: r.worker):
        finishes = [Finish(r.lease, r.token_hash, r.payload_hash(), r.result, r.result_ref) for r in group]
        finished = yield from finish_many(caller, worker, finishes)
        left = [finish for finish in finishes if finish.lease not in finished]
        done |= {**finished, **((yield from finish_followed(caller, worker, left)) if left else {})}
    for index, request in enumerate(requests):
        if outcomes[index] is None and _is_plain(request):
            outcomes[index] = done.pop(request.lease, None)
    rest = [i for i, outcome in enumerate(outcomes) if outcome is None]
    if rest:
        for index, outcome in zip(rest, (yield from act(caller, SPEC, [requests[i] for i in rest])), strict=True):
            outcomes[index] = outcome
    return [outcome for outcome in outcomes if outcome is not None]


def _unacceptable(caller: Caller, requests: Sequence[CompleteExecution]) -> Op[list[Outcome | None]]:
    """For each request why it cannot be kept whatever its lease: a result that is no JSON, an output that is nowhere."""
    outputs = {uid for request in requests for uid in request.outputs}
    known = (yield from caller.store.known_subjects(caller.tenant, outputs)) if outputs else set()
    outcomes: list[Outcome | None] = []
    for request in requests:
        try:
            canonical_json(request.result)
        except TenureError as error:
            outcomes.append(error)
            continue
        missing = not known.issuperset(request.outputs)
        outcomes.append(
            NotFound("An output does not exist.", "Give the EUIDs of subjects of this tenant.") if missing else None
        )
    return outcomes


def complete(caller: Caller, request: CompleteExecution) -> Op[ActionResult]:
    """The single form; raises what the set form returns as error."""
    return single((yield from complete_many(caller, [request])))


def finish_many(caller: Caller, worker: int, finishes: Sequence[Finish]) -> Op[Mapping[int, ActionResult]]:
    """Complete the plain ones of one worker's attempts in one statement; those left out are not in the answer."""
    return (
        yield from _finished(
            caller, finishes, caller.store.complete_plain(caller.tenant, worker, caller.actor, finishes)
        )
    )


def finish_followed(caller: Caller, worker: int, finishes: Sequence[Finish]) -> Op[Mapping[int, ActionResult]]:
    """The same for subjects that somebody follows, steps of runs for instance, by the short cut that the follower knows."""
    done: dict[int, ActionResult] = {}
    followers: Sequence[object] = caller.followers
    for follower in followers:
        left = [finish for finish in finishes if finish.lease not in done]
        if left and isinstance(follower, Finisher):
            done |= yield from _finished(caller, left, follower.finish(caller, worker, left))
    return done


def _finished(
    caller: Caller, finishes: Sequence[Finish], finishing: Op[Mapping[int, ActionResult]]
) -> Op[Mapping[int, ActionResult]]:  # fmt: skip
    elapsed = logging.stopwatch()
    with span("tenure.complete_queue_execution", {"tenure.batch": len(finishes)}):
        done = yield from finishing
        if logging.wanted():
            ms, results = elapsed(), list(done.values())
            correlation_ids = yield from logging.correlations(caller, [result.subject for result in results])
            keys = [{"idempotency_key": euid.format_euid(euid.LEASE, lease)} for lease in done]
            logging.log_many(caller, Action.COMPLETE, results, ms, None, correlation_ids, keys)
    return done


def _is_plain(r: CompleteExecution) -> bool:
    guards = (
        r.idempotency_key,
        r.expected_state,
        r.expected_revision,
        r.expected_seq,
        r.next_queue_key,
        r.next_action_key,
    )
    return all(g is None for g in guards) and not r.outputs and r.ready_at is None
