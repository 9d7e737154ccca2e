"""fail_queue_execution: the class of the error decides what follows (S1 sections 8.4 to 8.6)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from tenure.model import fact_types as ft
from tenure.model.backoff import retry_delay
from tenure.model.decisions.unfolding import Context, Unfolding, check_guards, held_lease, replayed_to_holder
from tenure.model.envelope import Envelope
from tenure.model.errors import InvalidTransition
from tenure.model.fact import Draft, Fact
from tenure.model.json_text import instant
from tenure.model.queue import Queue, RetryPolicy
from tenure.model.requests import FailExecution
from tenure.model.states import TRANSIENT, ErrorClass, HoldState, State
from tenure.model.transitions import Action, check_start, check_transition


def decide_fail(unfolding: Unfolding, request: FailExecution, context: Context, token: bytes | None) -> Fact:
    """Append ``execution.failed``: a retry, a dead letter, a hold or a cancellation."""
    if answered := replayed_to_holder(unfolding, request, token):
        return answered
    attempt = held_lease(unfolding, request, token, context.now)
    env = unfolding.envelope
    check_guards(env, request)
    check_start(Action.FAIL, env.state)
    if attempt.started_at is None and request.error_class in TRANSIENT:
        raise InvalidTransition(
            "This attempt was never started, so it cannot fail for a while.",
            "Start it first (start_execution, or claim with start=True), or release the lease.",
        )
    queue = context.policy(attempt.queue_key)
    queue_key = env.next_queue_key
    count = env.attempt_count + 1
    data: dict[str, Any] = {"error_class": str(request.error_class)}
    if request.error_code:
        data["error_code"] = request.error_code
    if request.error_class is ErrorClass.BUSINESS_RULE_HOLD:
        after = State.HELD
        data["hold"] = next(context.uids)
        data["set"] = {"hold_state": str(HoldState.ACTIVE), "hold_reason": request.error_code}
    elif request.error_class is ErrorClass.OPERATOR_CANCELED:
        after = State.CANCELED
        data["set"] = {"cancel_requested": True}
    elif request.error_class in TRANSIENT and count < max_attempts(env, queue):
        if request.next_queue_key is not None and not env.shared:
            queue = context.serving_queue(request.next_queue_key, env.template)
            queue_key = queue.queue_key
        after, data["set"] = _retry(env, request, context, unfolding.thread.retry or queue.retry_policy, count)
    else:
        after = State.FAILED_TERMINAL
        data["dead_letter"] = next(context.uids)
        data["set"] = {"attempt_count": count}
    if after in (State.HELD, State.CANCELED, State.FAILED_TERMINAL):
        others = [a.uid for a in unfolding.thread.live_attempts if a.uid != attempt.uid]
        if others:
            data["ended"] = others
    check_transition(Action.FAIL, env.state, after)
    unfolding.details[attempt.uid] = {"error_message": request.error_message, "retryable": "retry_at" in data["set"]}
    draft = Draft(
        type=ft.FAILED, state=after, revision=env.revision + 1, queue_key=queue_key, lease=attempt.uid,
        worker=attempt.worker, data=data, idempotency_key=request.idempotency_key,
        payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)


def max_attempts(envelope: Envelope, queue: Queue) -> int:
    """How many attempts the subject has in this queue (S1 section 8.6)."""
    return envelope.max_attempts_override or queue.max_attempts_default


def _retry(
    env: Envelope, request: FailExecution, context: Context, policy: RetryPolicy, count: int
) -> tuple[State, dict[str, Any]]:
    if request.retry_after_seconds is not None:
        delay = timedelta(seconds=request.retry_after_seconds)
    else:
        delay = retry_delay(policy, count, env.uid)
    # A slot of several is freed at once: the others go on, so the subject itself does not wait.
    after = State.READY if env.shared else State.FAILED_RETRYABLE
    return after, {"attempt_count": count, "retry_at": None if env.shared else instant(context.now + delay)}
