"""cancel_subject_execution: any nonterminal subject ends for good (S1 section 4.3)."""

from __future__ import annotations

from typing import Any

from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import Context, Unfolding, check_guards, replayed
from tenure.model.fact import Draft, Fact
from tenure.model.requests import CancelSubject
from tenure.model.states import HoldState, State
from tenure.model.transitions import Action, check_transition


def decide_cancel(unfolding: Unfolding, request: CancelSubject, context: Context) -> Fact:
    """Append ``subject.canceled``: live leases are CANCELED, active holds closed."""
    if answered := replayed(unfolding, request):
        return answered
    env = unfolding.envelope
    check_guards(env, request)
    check_transition(Action.CANCEL, env.state, State.CANCELED)
    data: dict[str, Any] = {"set": {"cancel_requested": True}}
    if env.hold_state is HoldState.ACTIVE:
        data["set"]["hold_state"] = str(HoldState.TERMINAL)
    if request.reason:
        data["reason"] = request.reason
    if live := unfolding.thread.live_attempts:
        data["ended"] = [a.uid for a in live]
    draft = Draft(
        type=ft.CANCELED, state=State.CANCELED, revision=env.revision + 1, queue_key=env.next_queue_key, data=data,
        idempotency_key=request.idempotency_key, payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)
