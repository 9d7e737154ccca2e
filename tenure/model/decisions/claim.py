"""claim_queue_item, once a candidate was chosen (S1 section 6.2)."""

from __future__ import annotations

from tenure.model import fact_types as ft
from tenure.model.attempt import Attempt
from tenure.model.decisions.unfolding import Context, Unfolding
from tenure.model.envelope import Envelope
from tenure.model.fact import Draft, Fact
from tenure.model.requests import ClaimItems
from tenure.model.states import LeaseStatus, State
from tenure.model.thread import SubjectThread
from tenure.model.transitions import Action, check_transition


def decide_claim(unfolding: Unfolding, request: ClaimItems, context: Context) -> Fact:
    """Append the claim (and start) of the next free slot; the caller has checked that it may be claimed."""
    env = unfolding.envelope
    queue = context.queue(request.queue_key)
    worker = context.workers[request.worker]
    after = state_after_claim(env, start=request.start)
    check_transition(Action.CLAIM, env.state, after)
    data: dict[str, object] = {"ttl": request.ttl_seconds or queue.lease_ttl_seconds, "started": request.start}
    if worker.incarnation != 1:
        data["incarnation"] = worker.incarnation
    if env.shared:
        data["slot"] = free_slot(unfolding.thread)
    lease = next(context.uids)
    unfolding.details[lease] = {
        "token_hash": request.token_hash, "queue": queue.uid, "shared": env.shared,
        "claim_key": request.idempotency_key, "claim_hash": request.payload_hash() if request.idempotency_key else None,
    }  # fmt: skip
    draft = Draft(
        type=ft.CLAIMED, state=after, revision=env.revision + (1 if after != env.state else 0),
        queue_key=env.next_queue_key, lease=lease, worker=request.worker, data=data,
    )  # fmt: skip
    return unfolding.append(draft, context)


def state_after_claim(envelope: Envelope, *, start: bool) -> State:
    """RUNNING once it was started and no slot is left; else as before (a shared one stays open for others)."""
    if start and envelope.slots_free == 1:
        return State.RUNNING
    if start and envelope.shared:
        return State.READY
    return envelope.state


def free_slot(thread: SubjectThread) -> int:
    """The lowest slot that is neither held nor done."""
    taken = {a.slot for a in [*thread.live_attempts, *_done_this_round(thread)]}
    return next(slot for slot in range(1, thread.envelope.slots_total + 1) if slot not in taken)


def _done_this_round(thread: SubjectThread) -> list[Attempt]:
    """The completed attempts that ``slots_done`` counts: requeueing, or the next queue, begins to count anew."""
    done = [a for a in thread.attempts.values() if a.lease_status is LeaseStatus.COMPLETED]
    done.sort(key=lambda a: a.end_revision or 0)
    return done[len(done) - thread.envelope.slots_done :]
