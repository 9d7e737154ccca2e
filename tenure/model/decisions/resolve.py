"""resolve_dead_letter: an operator closes it without running the subject again (S1 section 2.5, S4 section 8.4)."""

from __future__ import annotations

from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import Context, Unfolding, check_guards, replayed
from tenure.model.errors import Conflict, InvalidRequest
from tenure.model.fact import Draft, Fact
from tenure.model.requests import ResolveDeadLetter
from tenure.model.states import Resolution
from tenure.model.transitions import Action, check_transition


def decide_resolve(unfolding: Unfolding, request: ResolveDeadLetter, context: Context) -> Fact:
    """Append ``dead_letter.resolved`` with CANCELED or IGNORED."""
    if answered := replayed(unfolding, request):
        return answered
    env = unfolding.envelope
    check_guards(env, request)
    letter = unfolding.thread.open_dead_letter
    if letter is None:
        raise Conflict("The subject has no open dead letter.", "Nothing is left to resolve.")
    if request.resolution not in (Resolution.CANCELED, Resolution.IGNORED):
        raise InvalidRequest(
            f"A dead letter cannot be resolved as {request.resolution} this way.",
            "Use CANCELED or IGNORED; to run it again, requeue the subject with reopen=True.",
        )
    check_transition(Action.RESOLVE, env.state, env.state)
    draft = Draft(
        type=ft.DEAD_LETTER_RESOLVED, state=env.state, revision=env.revision, queue_key=env.next_queue_key,
        data={"dead_letter": letter.uid, "resolution": str(request.resolution), "reason": request.reason},
        idempotency_key=request.idempotency_key, payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)
