"""expire_queue_lease: what a lapsed lease leaves behind (S1 sections 6.4, 6.5 and 8.1).

An attempt that never began costs nothing. One that had begun counts as a failed attempt, so that work which kills its
worker every time ends as a dead letter and not as an endless loop. Work handed outside stays WAITING_EXTERNAL: only an
operator may reconcile it (S1 section 8.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tenure.model import fact_types as ft
from tenure.model.attempt import Attempt
from tenure.model.decisions.fail import max_attempts
from tenure.model.decisions.unfolding import Context, Unfolding
from tenure.model.envelope import Envelope
from tenure.model.fact import Draft, Fact
from tenure.model.json_text import instant
from tenure.model.queue import Queue
from tenure.model.requests import ExpireLease
from tenure.model.states import State
from tenure.model.transitions import Action, check_transition


def decide_expire(
    unfolding: Unfolding, attempt: Attempt, context: Context, reason: str | None = None,
    request: ExpireLease | None = None,
) -> Fact:  # fmt: skip
    """Append ``lease.expired`` for a lease that the caller found lapsed (or an admin forces, by ``request``)."""
    env = unfolding.envelope
    assert attempt.expires_at is not None
    data: dict[str, Any] = {"reason": reason} if reason else {}
    after, count = _after(env, env.state, env.attempt_count, attempt, context.queues.get(str(attempt.queue_key)))
    if count != env.attempt_count:
        changes: dict[str, Any] = {"attempt_count": count}
        if after is State.FAILED_TERMINAL:
            data["dead_letter"] = next(context.uids)
            others = [a.uid for a in unfolding.thread.live_attempts if a.uid != attempt.uid]
            if others:
                data["ended"] = others
        elif after is State.FAILED_RETRYABLE:
            # Eligible from the moment it lapsed, so that the order does not depend on who noticed when.
            changes["retry_at"] = instant(min(attempt.expires_at, context.now))
        data["set"] = changes
    check_transition(Action.EXPIRE, env.state, after)
    draft = Draft(
        type=ft.EXPIRED, state=after, revision=env.revision + (after is not env.state or "set" in data),
        queue_key=env.next_queue_key, lease=attempt.uid, worker=attempt.worker, data=data,
        idempotency_key=request.idempotency_key if request is not None else None,
        payload_hash=request.payload_hash() if request is not None and request.idempotency_key is not None else None,
    )  # fmt: skip
    return unfolding.append(draft, context)


def expired_standing(envelope: Envelope, lapsed: Sequence[Attempt], queue: Queue) -> State:
    """Where ``decide_expire`` of all ``lapsed`` would leave the subject: for reads that come before any sweep."""
    state, count = envelope.state, envelope.attempt_count
    for attempt in lapsed:
        state, count = _after(envelope, state, count, attempt, queue)
    return state


def _after(env: Envelope, state: State, count: int, attempt: Attempt, queue: Queue | None) -> tuple[State, int]:
    if state not in (State.RUNNING, State.READY):
        return state, count
    if attempt.started_at is not None:
        count += 1
        if queue is not None and count >= max_attempts(env, queue):
            return State.FAILED_TERMINAL, count
    if state is State.RUNNING:
        # A slot of several is free again, begun or not: RUNNING would keep everyone from taking it.
        return State.READY if env.shared else State.FAILED_RETRYABLE, count
    return state, count
