"""start_execution: READY or FAILED_RETRYABLE under lease becomes RUNNING (S1 section 4.3)."""

from __future__ import annotations

from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import Context, Unfolding, check_guards, held_lease, replayed_to_holder
from tenure.model.errors import InvalidRequest, InvalidTransition
from tenure.model.fact import Draft, Fact
from tenure.model.json_text import instant
from tenure.model.requests import StartExecution
from tenure.model.states import State
from tenure.model.transitions import Action, check_start, check_transition


def decide_start(unfolding: Unfolding, request: StartExecution, context: Context, token: bytes | None) -> Fact:
    """Append ``execution.started``."""
    if answered := replayed_to_holder(unfolding, request, token):
        return answered
    attempt = held_lease(unfolding, request, token, context.now)
    env = unfolding.envelope
    check_guards(env, request)
    check_start(Action.START, env.state)
    if attempt.started_at is not None and env.state is not State.WAITING_EXTERNAL:
        raise InvalidTransition("This attempt was started already.", "Complete, fail or release it.")
    after = State.RUNNING if env.slots_free == 0 else State.READY
    check_transition(Action.START, env.state, after)
    if request.deadline is not None and request.deadline <= context.now:
        raise InvalidRequest("The deadline has passed already.", "Give a deadline in the future, or none.")
    data = {"deadline": instant(request.deadline)} if request.deadline is not None else None
    draft = Draft(
        type=ft.STARTED, state=after, revision=env.revision + 1, queue_key=env.next_queue_key, lease=attempt.uid,
        worker=attempt.worker, data=data, idempotency_key=request.idempotency_key, payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)
