"""The queue visibility rule, with its reasons (S1 sections 3.1 and 9.3; design 01, Reading).

A subject is visible in its queue when ``obstacles`` finds nothing but, perhaps, that the queue is disabled. The index
``claimable`` and the statement ``claim.sql`` say the same in SQL; a stateful test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tenure.model import euid
from tenure.model.attempt import Attempt
from tenure.model.decisions.expire import expired_standing
from tenure.model.envelope import Envelope
from tenure.model.json_text import instant
from tenure.model.queue import Queue
from tenure.model.states import CLAIMABLE, HoldState, State
from tenure.model.thread import FOREVER, SubjectThread


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a subject is not moving, or who could move it: a code, a sentence, the evidence, what would change it."""

    code: str
    message: str
    remedy: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    blocking: bool = True

    def as_dict(self) -> dict[str, Any]:
        """The reason as plain data."""
        return {
            "code": self.code, "message": self.message, "remedy": self.remedy, "evidence": dict(self.evidence),
            "blocking": self.blocking,
        }  # fmt: skip


def is_visible(thread: SubjectThread, queue: Queue | None, now: datetime) -> bool:
    """The rule of S1 section 3.1, lapsed leases counted as gone.

    That a queue is disabled keeps everyone from claiming (S1 section 3.5), but does not take its subjects out of it.
    """
    return all(reason.code == "queue_disabled" or not reason.blocking for reason in obstacles(thread, queue, now))


def eligible_since(thread: SubjectThread, now: datetime) -> datetime:
    """The moment by which it is ordered: of a lapsed attempt that had begun, the moment its lease ran out."""
    env = thread.envelope
    lapsed = [a for a in thread.live_attempts if a.expired(now)]
    if env.state is State.RUNNING and not env.shared and lapsed and lapsed[0].expires_at:
        return lapsed[0].expires_at
    return env.eligible_at


def obstacles(thread: SubjectThread, queue: Queue | None, now: datetime) -> list[Reason]:
    """Every reason for which the subject is not claimable now; not blocking: a lapsed lease that can be taken over."""
    env = thread.envelope
    reasons = _stops(thread)
    live = [a for a in thread.live_attempts if not a.expired(now)]
    lapsed = [a for a in thread.live_attempts if a.expired(now)]
    full = env.slots_free + len(lapsed) < 1
    if full and live:  # before the state, which follows from it
        reasons.append(_leased(env, live))
    reasons += [*_state_obstacles(env, lapsed, queue), *_queue_obstacles(env, queue)]
    if full and not live:
        reasons.append(_slots_full(env))
    reasons += [_reclaimable(a) for a in lapsed if env.state is not State.WAITING_EXTERNAL]
    standing = _standing(env, lapsed, queue)
    since = eligible_since(thread, now)
    if standing in CLAIMABLE and since > now:
        reasons.append(_not_yet(env, since))
    return reasons


def _standing(env: Envelope, lapsed: list[Attempt], queue: Queue | None) -> State:
    return expired_standing(env, lapsed, queue) if lapsed and queue is not None else env.state


def _stops(thread: SubjectThread) -> list[Reason]:
    env = thread.envelope
    reasons = []
    if env.terminal:
        remedy = "Nothing is left to do; an operator can reopen it: requeue with reopen=True."
        if env.state is State.FAILED_TERMINAL:
            remedy = "Look at its dead letter; requeue it with reopen=True once the cause is gone."
        reasons.append(Reason("terminal_state", f"The subject is {env.state}.", remedy, {"state": str(env.state)}))
    if env.cancel_requested and env.state is not State.CANCELED:
        reasons.append(Reason("cancel_requested", "It is to be canceled.", "Requeue it to undo the request."))
    reasons += [
        Reason(
            "hold_active", f"It is on hold ({hold.hold_code}): {hold.reason}", "Release the hold.",
            {"hold": euid.format_euid(euid.HOLD, hold.uid), "placed_by": hold.placed_by, "placed_at": instant(hold.placed_at)},
        )
        for hold in thread.active_holds
    ]  # fmt: skip
    if env.hold_state is HoldState.ACTIVE and not thread.active_holds:
        reasons.append(Reason("hold_active", f"It is on hold: {env.hold_reason}", "Release the hold."))
    return reasons


def _state_obstacles(env: Envelope, lapsed: list[Attempt], queue: Queue | None) -> list[Reason]:
    standing = _standing(env, lapsed, queue)
    eligible = queue.eligible_states if queue is not None else tuple(CLAIMABLE)
    if (standing in eligible and standing in CLAIMABLE) or env.terminal or env.state is State.HELD:
        return []
    if standing is State.FAILED_TERMINAL:
        return [
            Reason(
                "attempts_exhausted", "Its last attempt ran out of time and no attempt is left.",
                "The next sweep makes it a dead letter; requeue it then, or raise its max_attempts.",
                {"attempt_count": env.attempt_count + sum(a.started_at is not None for a in lapsed)},
            )
        ]  # fmt: skip
    return [
        Reason(
            "state_not_eligible", f"State {env.state} is not taken from this queue.", _STATE_REMEDY[env.state],
            {"state": str(env.state), "eligible_states": [str(s) for s in eligible]},
        )
    ]  # fmt: skip


_STATE_REMEDY = {
    State.PENDING: "Route it: requeue_subject with a queue.",
    State.READY: "The queue does not take READY subjects: change its eligible_states.",
    State.FAILED_RETRYABLE: "The queue does not take retries: change its eligible_states, or requeue the subject.",
    State.RUNNING: "A worker is on it: wait for it to finish or for its lease to run out.",
    State.WAITING_EXTERNAL: "Outside work is going on: its holder reports the result, or an operator reconciles it "
    "by requeue, hold or cancel.",
}


def _queue_obstacles(env: Envelope, queue: Queue | None) -> list[Reason]:
    if env.next_queue_key is None:
        return [Reason("next_queue_missing", "No queue is next for it.", "Route it: requeue_subject with a queue.")]
    key = {"queue_key": env.next_queue_key}
    if queue is None:
        return [Reason("queue_unknown", f"No active queue has the key {env.next_queue_key!r}.",
                       "Define the queue, or requeue the subject elsewhere.", key)]  # fmt: skip
    reasons = []
    if not queue.enabled:
        because = f": {queue.disabled_reason}" if queue.disabled_reason else ""
        reasons.append(
            Reason("queue_disabled", f"Queue {queue.queue_key} is disabled{because}.", "Enable the queue.", key)
        )
    if env.template not in queue.subject_template_codes:
        reasons.append(
            Reason("template_not_served", f"Queue {queue.queue_key} does not serve {env.template}.",
                   "Requeue it to a queue that does.",
                   {**key, "template": env.template, "served": list(queue.subject_template_codes)})
        )  # fmt: skip
    for scope in ("site", "platform", "assay"):
        wanted, allowed = getattr(env, scope), getattr(queue, f"{scope}_scope")
        if wanted is not None and allowed and wanted not in allowed:
            reasons.append(
                Reason("scope_mismatch", f"Its {scope} {wanted!r} is outside the scope of queue {queue.queue_key}.",
                       f"Requeue it, or widen the queue's {scope}_scope.", {**key, scope: wanted, "allowed": list(allowed)})
            )  # fmt: skip
    return reasons


def _lease_evidence(attempt: Attempt) -> dict[str, Any]:
    return {
        "lease": euid.format_euid(euid.LEASE, attempt.uid),
        "worker": euid.format_euid(euid.WORKER, attempt.worker) if attempt.worker else None,
        "expires_at": instant(attempt.expires_at) if attempt.expires_at else None,
    }


def _leased(env: Envelope, live: list[Attempt]) -> Reason:
    until = max(a.expires_at for a in live if a.expires_at)
    ends = until < FOREVER
    who = "A worker holds" if len(live) == 1 else f"{len(live)} workers hold"
    return Reason(
        "active_lease", f"{who} it under lease{f' until {instant(until)}' if ends else ', which does not run out'}.",
        f"Wait for it to end{' or run out' if ends else ''}; an operator can hold, requeue or cancel it, "
        "an admin can expire the lease.",
        {"leases": [_lease_evidence(a) for a in live], "slots_total": env.slots_total},
    )  # fmt: skip


def _slots_full(env: Envelope) -> Reason:
    return Reason(
        "slots_full", f"All {env.slots_total} slots are done or held.", "Nothing is left to take.",
        {"slots_total": env.slots_total, "slots_done": env.slots_done},
    )  # fmt: skip


def _reclaimable(attempt: Attempt) -> Reason:
    return Reason(
        "lease_expired", "A worker let its lease run out; the next claim takes the subject over.",
        "Any worker that serves the queue may claim it.", _lease_evidence(attempt), blocking=False,
    )  # fmt: skip


def _not_yet(env: Envelope, since: datetime) -> Reason:
    if env.retry_at is not None:
        return Reason(
            "retry_window", f"It failed and waits until {instant(since)} before the next attempt.",
            "Wait, or requeue it to try at once.", {"retry_at": instant(since), "attempt_count": env.attempt_count},
        )  # fmt: skip
    return Reason(
        "not_yet_due", f"It is scheduled for {instant(since)}.", "Wait, or requeue it with another ready_at.",
        {"ready_at": instant(since)},
    )  # fmt: skip
