"""release_queue_lease and its sibling, deferring: given back without spending an attempt."""

from __future__ import annotations

from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import (
    Context,
    Unfolding,
    check_guards,
    held_lease,
    replayed_to_holder,
    state_when_slot_freed,
)  # fmt: skip
from tenure.model.fact import Draft, Fact
from tenure.model.json_text import instant
from tenure.model.requests import DeferExecution, ReleaseLease
from tenure.model.states import State
from tenure.model.transitions import Action, check_start, check_transition


def decide_release(unfolding: Unfolding, request: ReleaseLease, context: Context, token: bytes | None) -> Fact:
    """Append ``lease.released``: back to the queue at once."""
    if answered := replayed_to_holder(unfolding, request, token):
        return answered
    attempt = held_lease(unfolding, request, token, context.now)
    env = unfolding.envelope
    check_guards(env, request)
    check_start(Action.RELEASE, env.state)
    after = state_when_slot_freed(env)
    check_transition(Action.RELEASE, env.state, after)
    draft = Draft(
        type=ft.RELEASED, state=after, revision=env.revision + (after != env.state), queue_key=env.next_queue_key,
        lease=attempt.uid, worker=attempt.worker, data={"reason": request.reason or "RELEASED"},
        idempotency_key=request.idempotency_key, payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)


def decide_defer(unfolding: Unfolding, request: DeferExecution, context: Context, token: bytes | None) -> Fact:
    """Append ``execution.deferred``: back to the queue, not before ``until``."""
    if answered := replayed_to_holder(unfolding, request, token):
        return answered
    attempt = held_lease(unfolding, request, token, context.now)
    env = unfolding.envelope
    check_guards(env, request)
    check_start(Action.RELEASE, env.state)
    draft = Draft(
        type=ft.DEFERRED, state=State.READY, revision=env.revision + 1, queue_key=env.next_queue_key,
        lease=attempt.uid, worker=attempt.worker,
        data={"set": {"ready_at": instant(request.until), "retry_at": None}},
        idempotency_key=request.idempotency_key, payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)
