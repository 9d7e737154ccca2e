"""requeue_subject: routing a prepared subject, moving, reconciling, or reopening (S1 sections 4.3, 4.6 and 8.3)."""

from __future__ import annotations

from typing import Any

from tenure.model import fact_types as ft
from tenure.model.attempt import record_of
from tenure.model.decisions.unfolding import Context, Unfolding, check_guards, replayed
from tenure.model.errors import InvalidRequest, InvalidTransition
from tenure.model.fact import Draft, Fact
from tenure.model.json_text import instant
from tenure.model.requests import RequeueSubject
from tenure.model.states import HoldState, State
from tenure.model.transitions import Action, check_transition


def decide_requeue(unfolding: Unfolding, request: RequeueSubject, context: Context) -> Fact:
    """Append ``subject.requeued``: READY in the named queue with a fresh count of attempts."""
    if answered := replayed(unfolding, request):
        return answered
    env = unfolding.envelope
    check_guards(env, request)
    if env.terminal and not request.reopen:
        raise InvalidTransition(
            f"The subject is {env.state}; terminal states are immutable.",
            "An operator can reopen it explicitly: requeue with reopen=True.",
            action=str(Action.REQUEUE),
            state=str(env.state),
        )
    check_transition(Action.REQUEUE, env.state, State.READY)
    queue_key = request.queue_key or env.next_queue_key
    if queue_key is None:
        raise InvalidRequest("The subject has no queue yet.", "Name the queue to put it in.")
    context.serving_queue(queue_key, env.template)
    changes: dict[str, Any] = {
        "attempt_count": 0, "retry_at": None, "ready_at": instant(request.ready_at or context.now),
        "slots_free": env.slots_total, "slots_done": 0, "cancel_requested": False,
        "hold_state": str(HoldState.NONE), "hold_reason": None,
    }  # fmt: skip
    if request.priority is not None:
        changes["priority"] = request.priority
    if request.next_action_key is not None or request.queue_key not in (None, env.next_queue_key):
        changes["next_action_key"] = request.next_action_key
    data: dict[str, Any] = {"set": changes}
    if request.reason:
        data["reason"] = request.reason
    if live := unfolding.thread.live_attempts:
        data["ended"] = [a.uid for a in live]
    if letter := unfolding.thread.open_dead_letter:
        data["dead_letter"] = letter.uid
    if env.state in (State.RUNNING, State.WAITING_EXTERNAL):
        # S1 8.3: reconciliation must produce a new record.
        data["record"] = record_of(next(context.uids))
    draft = Draft(
        type=ft.REQUEUED, state=State.READY, revision=env.revision + 1, queue_key=queue_key, data=data,
        idempotency_key=request.idempotency_key, payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)
