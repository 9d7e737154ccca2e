"""place_execution_hold and release_execution_hold: stop the line, with evidence (S1 section 8.7)."""

from __future__ import annotations

from typing import Any

from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import Context, Unfolding, check_guards, replayed
from tenure.model.errors import Conflict, NotFound
from tenure.model.euid import HOLD, format_euid
from tenure.model.fact import Draft, Fact
from tenure.model.requests import PlaceHold, ReleaseHold
from tenure.model.states import HoldState, HoldStatus, State
from tenure.model.transitions import Action, check_start, check_transition


def decide_hold(unfolding: Unfolding, request: PlaceHold, context: Context) -> Fact:
    """Append ``hold.placed``: HELD; live leases are ABANDONED. A second hold adds to the first."""
    if answered := replayed(unfolding, request):
        return answered
    env = unfolding.envelope
    check_guards(env, request)
    check_transition(Action.HOLD, env.state, State.HELD)
    data: dict[str, Any] = {
        "hold": next(context.uids), "code": request.hold_code, "reason": request.reason,
        "set": {"hold_state": str(HoldState.ACTIVE), "hold_reason": request.reason},
    }  # fmt: skip
    if live := unfolding.thread.live_attempts:
        data["ended"] = [a.uid for a in live]
    draft = Draft(
        type=ft.HOLD_PLACED, state=State.HELD, revision=env.revision + 1, queue_key=env.next_queue_key, data=data,
        idempotency_key=request.idempotency_key, payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)


def decide_release_hold(unfolding: Unfolding, request: ReleaseHold, context: Context) -> Fact:
    """Append ``hold.released``: READY or FAILED_RETRYABLE once no hold is left, else still HELD."""
    if answered := replayed(unfolding, request):
        return answered
    env = unfolding.envelope
    check_guards(env, request)
    check_start(Action.RELEASE_HOLD, env.state)
    active = unfolding.thread.active_holds
    hold_uid = _which(unfolding, request)
    left = [h for h in active if h.uid != hold_uid]
    data: dict[str, Any] = {"hold": hold_uid}
    if request.reason:
        data["reason"] = request.reason
    if left:
        after = State.HELD
        data["set"] = {"hold_reason": left[-1].reason}
    else:
        after = State.FAILED_RETRYABLE if env.retry_at is not None else State.READY
        data["set"] = {"hold_state": str(HoldState.NONE), "hold_reason": None}
    draft = Draft(
        type=ft.HOLD_RELEASED, state=after, revision=env.revision + 1, queue_key=env.next_queue_key, data=data,
        idempotency_key=request.idempotency_key, payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)


def _which(unfolding: Unfolding, request: ReleaseHold) -> int:
    active = unfolding.thread.active_holds
    if request.hold is None:
        if len(active) > 1:
            names = [format_euid(HOLD, hold.uid) for hold in active]
            raise Conflict(
                f"The subject has several active holds: {', '.join(names)}.", "Say which one to release.", holds=names
            )
        return active[0].uid
    hold = unfolding.thread.holds.get(request.hold)
    if hold is None:
        raise NotFound("This subject has no such hold.", "List its holds with `tenure subject show`.")
    if hold.status is not HoldStatus.ACTIVE:
        raise Conflict("This hold was released already.", "Nothing is left to do for it.")
    return hold.uid
