"""complete_queue_execution (S1 section 4.3); the hot statement ``complete.sql`` does the plain case alike."""

from __future__ import annotations

from typing import Any

from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import Context, Unfolding, check_guards, held_lease, replayed_to_holder
from tenure.model.errors import InvalidTransition
from tenure.model.fact import Draft, Fact
from tenure.model.json_text import instant
from tenure.model.requests import CompleteExecution
from tenure.model.states import State
from tenure.model.transitions import Action, check_start, check_transition


def decide_complete(unfolding: Unfolding, request: CompleteExecution, context: Context, token: bytes | None) -> Fact:
    """Append ``execution.completed``: COMPLETED, or READY in the next queue once every slot is done."""
    if answered := replayed_to_holder(unfolding, request, token):
        return answered
    attempt = held_lease(unfolding, request, token, context.now)
    env = unfolding.envelope
    check_guards(env, request)
    check_start(Action.COMPLETE, env.state)
    if attempt.started_at is None:
        raise InvalidTransition(
            "This attempt was never started.", "Start it first: start_execution, or claim with start=True."
        )
    last = env.slots_done + 1 == env.slots_total
    data: dict[str, Any] = {"outputs": list(request.outputs)} if request.outputs else {}
    queue_key = env.next_queue_key
    if not last:
        after = env.state
    elif request.next_queue_key is None:
        after = State.COMPLETED
    else:
        queue_key = context.serving_queue(request.next_queue_key, env.template).queue_key
        after = State.READY
        data["set"] = {
            "next_action_key": request.next_action_key, "attempt_count": 0, "retry_at": None,
            "ready_at": instant(request.ready_at or context.now), "slots_free": env.slots_total, "slots_done": 0,
        }  # fmt: skip
    check_transition(Action.COMPLETE, env.state, after)
    unfolding.details[attempt.uid] = {"result": request.result, "result_ref": request.result_ref}
    draft = Draft(
        type=ft.COMPLETED, state=after, revision=env.revision + 1, queue_key=queue_key, lease=attempt.uid,
        worker=attempt.worker, data=data, idempotency_key=request.idempotency_key,
        payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)
