"""claim_queue_item: take work under lease (S1 sections 3.5 and 6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tenure.engine import logging
from tenure.engine.acting import context_of, refusal_of
from tenure.engine.actions.expire import sweep
from tenure.engine.caller import Caller, apply_and_follow
from tenure.engine.tracing import span
from tenure.model import fact_types as ft
from tenure.model.decisions.claim import decide_claim
from tenure.model.decisions.expire import decide_expire
from tenure.model.decisions.unfolding import Context, Unfolding, check_guards
from tenure.model.eligibility import refusal
from tenure.model.errors import IdempotencyConflict, NotClaimable, NotFound, QueueUnknown, StateConflict, TenureError
from tenure.model.fact_types import REGISTRY
from tenure.model.requests import ClaimItems
from tenure.model.result import ActionResult
from tenure.model.states import LeaseStatus, State
from tenure.model.transitions import Action
from tenure.model.visibility import obstacles
from tenure.store.operation import Op
from tenure.store.records import Claimed, Refused, ScanHint, Target
from tenure.store.tracing import recording

_PROMOTE = 10_000
_SWEEP = 500


@dataclass(frozen=True, slots=True)
class Claim:
    """What a claim brought: the leases, and whether they had been taken before under the same key."""

    items: list[Claimed]
    replayed: bool = False


def claim(caller: Caller, request: ClaimItems, hint: ScanHint | None = None) -> Op[Claim]:
    """Take up to ``limit`` subjects, or the one asked for; an empty claim changes nothing and keeps no key.

    Raises why the worker may not claim at all, or why that one subject cannot be claimed. ``hint`` tells where to
    start scanning the queue.
    """
    elapsed = logging.stopwatch()
    with span("tenure.claim_queue_item", {"tenure.queue_key": request.queue_key}):
        try:
            answer = yield from _claim(caller, request, hint)
        except TenureError as error:
            if logging.wanted():
                logging.log_outcome(caller, Action.CLAIM, error, elapsed(), request)
            raise
        if logging.wanted():
            for item in answer.items:
                logging.log_outcome(
                    caller, Action.CLAIM, _as_result(item, answer.replayed), elapsed(), request,
                    correlation_id=item.correlation_id,
                )  # fmt: skip
        yield from _traced(caller, answer.items)
    return answer


def told(caller: Caller, lease: int, item: Claimed | None) -> Op[Claimed | None]:
    """What a submission took for a worker's standing claim, noted as what a claim takes is; read where only its uid is known.

    None where there is no such lease.
    """
    elapsed = logging.stopwatch()
    with span("tenure.claim_queue_item", {"tenure.queue_key": item.queue_key if item is not None else ""}):
        if item is None:
            found = yield from caller.store.claimed([lease])
            if not found:
                return None
            (item,) = found
        if logging.wanted():
            result = _as_result(item, replayed=False)
            logging.log_outcome(caller, Action.CLAIM, result, elapsed(), correlation_id=item.correlation_id)
        yield from _traced(caller, [item])
    return item


def _traced(caller: Caller, items: Sequence[Claimed]) -> Op[None]:
    if items and recording():
        origins = yield from caller.store.origins(caller.tenant, [item.subject for item in items])
        for item in items:
            item.submitted_in = origins[item.subject].trace if item.subject in origins else None


def _claim(caller: Caller, request: ClaimItems, hint: ScanHint | None) -> Op[Claim]:
    if request.idempotency_key is None and request.subject is None:
        return Claim((yield from _take(caller, request, hint)))
    answer = yield from caller.store.transaction(_keyed(caller, request))
    if isinstance(answer, TenureError):
        raise answer
    return answer


def _take(caller: Caller, request: ClaimItems, hint: ScanHint | None) -> Op[list[Claimed]]:
    if hint is not None:
        # Only a look at what follows; whoever gives hints looks at the whole queue, with all its gates, in between.
        _, taken = yield from caller.store.claim(caller.tenant, request, caller.actor, hint, past_gate=True)
        return taken
    gate, taken = yield from caller.store.claim(caller.tenant, request, caller.actor, None, past_gate=False)
    if taken:
        return taken
    if gate.allowed and (gate.due or gate.lapsed):
        # What fell due or lapsed takes its place in the order first; then the first of all are taken.
        if gate.due:
            yield from caller.store.promote(caller.tenant, request.queue_key, _PROMOTE)
        if gate.lapsed:
            yield from sweep(caller, request.queue_key, _SWEEP)
        gate, taken = yield from caller.store.claim(caller.tenant, request, caller.actor, None, past_gate=True)
    if not taken and not gate.allowed:
        yield from _explain(caller, request)
    return taken


def _explain(caller: Caller, request: ClaimItems) -> Op[None]:
    """Raise why the worker may not claim from the queue, if that is why nothing came."""
    worker = yield from caller.store.worker(caller.tenant, uid=request.worker)
    if worker is None:
        raise NotFound("There is no such worker.", "Register it first.")
    queue = (yield from caller.store.queues(caller.tenant, [request.queue_key])).get(request.queue_key)
    if queue is None or queue.retired_at is not None:
        raise QueueUnknown(f"There is no queue {request.queue_key!r}.", "Define it first, or correct the key.")
    live = yield from caller.store.live_leases(worker.uid)
    if (error := refusal(worker, queue, live, request.incarnation)) is not None:
        raise error


def _keyed(caller: Caller, request: ClaimItems) -> Op[Claim | TenureError]:
    # The worker's row is the lock under which a key is looked up and used.
    worker = yield from caller.store.worker(caller.tenant, uid=request.worker, lock=True)
    if worker is None:
        return NotFound("There is no such worker.", "Register it first.")
    if request.idempotency_key is not None:
        before = yield from caller.store.claimed_before(caller.tenant, request.worker, request.idempotency_key)
        if before:
            return (yield from _again(caller, request, before))
    if request.subject is None:
        try:
            return Claim((yield from _take(caller, request, None)))
        except TenureError as error:
            return error
    try:
        return Claim((yield from _take_subject(caller, request)))
    except TenureError as error:
        if (refused := refusal_of(caller, Action.CLAIM, request, error)) is not None:
            yield from caller.store.refuse(caller.tenant, [refused])
        return error


def _again(caller: Caller, request: ClaimItems, before: list[tuple[Claimed, bytes | None]]) -> Op[Claim | TenureError]:
    if any(digest != request.payload_hash() for _, digest in before):
        return IdempotencyConflict(
            "This idempotency key was used before with another claim.", "Use a new key for a new claim.",
            idempotency_key=request.idempotency_key,
        )  # fmt: skip
    refused = Refused(
        "idempotent_replay", Action.CLAIM, caller.actor, "Answered from before.", subject=before[0][0].subject,
        lease=before[0][0].lease, worker=request.worker, queue_key=request.queue_key,
    )  # fmt: skip
    yield from caller.store.refuse(caller.tenant, [refused])
    return Claim([item for item, _ in before], replayed=True)


def _take_subject(caller: Caller, request: ClaimItems) -> Op[list[Claimed]]:
    target = Target((ft.CLAIMED,), subject=request.subject)
    loaded = yield from caller.store.load(caller.tenant, [target], [request.queue_key], [request.worker])
    context = context_of(caller, loaded)
    thread = loaded.threads.get(request.subject or 0)
    if thread is None:
        raise NotFound("There is no such subject.", "Check its EUID; what belongs to another tenant cannot be seen.")
    queue = context.queue(request.queue_key)
    live = yield from caller.store.live_leases(request.worker)
    if (error := refusal(context.workers[request.worker], queue, live, request.incarnation)) is not None:
        raise error
    unfolding = Unfolding.of(thread)
    _check_claimable(unfolding, request, context)
    for attempt in thread.live_attempts:
        if attempt.expired(context.now) and thread.envelope.state is not State.WAITING_EXTERNAL:
            decide_expire(unfolding, attempt, context)
    fact = decide_claim(unfolding, request, context)
    yield from apply_and_follow(caller, [unfolding])
    return (yield from caller.store.claimed([fact.lease] if fact.lease is not None else []))


def _check_claimable(unfolding: Unfolding, request: ClaimItems, context: Context) -> None:
    env = unfolding.envelope
    check_guards(env, request)
    if env.next_queue_key != request.queue_key:
        raise StateConflict(
            f"The subject is next in {env.next_queue_key or 'no queue'}, not in {request.queue_key}.",
            "Claim it from that queue.", expected=request.queue_key, actual=env.next_queue_key,
        )  # fmt: skip
    blocking = [r for r in obstacles(unfolding.thread, context.queue(request.queue_key), context.now) if r.blocking]
    if blocking:
        raise NotClaimable(
            f"The subject cannot be claimed: {' '.join(r.message for r in blocking)}", blocking[0].remedy,
            reasons=[r.as_dict() for r in blocking],
        )  # fmt: skip
    if env.bars(context.workers[request.worker]):
        raise NotClaimable(
            "It is to be done by somebody else: this worker, or its owner, did it before.",
            "Let a worker take it that is another's.", reasons=[{"code": "by_another"}],
        )  # fmt: skip
    mine = [a for a in unfolding.thread.attempts.values() if a.worker == request.worker]
    if env.shared and any(a.lease_status in (LeaseStatus.ACTIVE, LeaseStatus.COMPLETED) for a in mine):
        raise NotClaimable(
            "This worker has, or had, a slot of this subject already.", "Another worker has to take the next slot.",
            reasons=[{"code": "same_worker"}],
        )  # fmt: skip


def _as_result(item: Claimed, replayed: bool) -> ActionResult:
    return ActionResult(
        REGISTRY[ft.CLAIMED].action, ft.CLAIMED, item.subject, item.state, item.revision, item.seq, item.claimed_at,
        item.queue_key, item.lease, item.worker, replayed=replayed,
    )  # fmt: skip
