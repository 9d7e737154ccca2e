"""dispatch_external: work that goes on outside the database (S1 section 7.6)."""

from __future__ import annotations

from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import Context, Unfolding, check_guards, held_lease, replayed_to_holder
from tenure.model.errors import InvalidRequest, InvalidTransition
from tenure.model.fact import Draft, Fact
from tenure.model.json_text import instant
from tenure.model.requests import DispatchExternal
from tenure.model.states import State
from tenure.model.transitions import Action, check_start


def decide_dispatch(unfolding: Unfolding, request: DispatchExternal, context: Context, token: bytes | None) -> Fact:
    """Append ``execution.dispatched``: the lease now lasts until the deadline, or until someone reconciles."""
    if answered := replayed_to_holder(unfolding, request, token):
        return answered
    attempt = held_lease(unfolding, request, token, context.now)
    env = unfolding.envelope
    check_guards(env, request)
    check_start(Action.DISPATCH, env.state)
    if env.shared:
        raise InvalidTransition(
            "A subject with several slots cannot wait for outside work.", "Submit it with one slot, or run it here."
        )
    if request.deadline is not None and request.deadline <= context.now:
        raise InvalidRequest("The deadline has passed already.", "Give a deadline in the future, or none.")
    data = {
        "external_ref": request.external_ref,
        "deadline": instant(request.deadline) if request.deadline else None,
    }
    draft = Draft(
        type=ft.DISPATCHED, state=State.WAITING_EXTERNAL, revision=env.revision + 1, queue_key=env.next_queue_key,
        lease=attempt.uid, worker=attempt.worker, data={k: v for k, v in data.items() if v is not None},
        idempotency_key=request.idempotency_key, payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)
