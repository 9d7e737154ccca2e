"""``why(subject)``: exact reasons for which it is not moving, or who could take it (design 01, Reading)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from tenure.model import euid
from tenure.model.eligibility import missing_capabilities, refusal, takes_claims
from tenure.model.errors import CapabilityMismatch, WorkerAtLimit
from tenure.model.queue import Queue
from tenure.model.thread import SubjectThread
from tenure.model.visibility import Reason, obstacles
from tenure.model.worker import Worker


@dataclass(frozen=True, slots=True)
class Situation:
    """What ``why`` looks at: the subject, its queue, the queue's workers with their live leases, those before it."""

    thread: SubjectThread
    queue: Queue | None
    workers: Sequence[Worker]
    live_leases: Mapping[int, int]
    ahead: int | None


def why(situation: Situation, now: datetime) -> list[Reason]:
    """Every obstacle; where the subject is visible, its place in the queue and which workers could take it."""
    reasons = obstacles(situation.thread, situation.queue, now)
    if any(r.blocking for r in reasons) or situation.queue is None:
        return reasons
    if situation.ahead is not None:
        reasons.append(_place(situation.queue, situation.ahead))
    return reasons + _workers(situation, situation.queue, now)


def _place(queue: Queue, ahead: int) -> Reason:
    return Reason(
        "in_queue", f"It is visible in queue {queue.queue_key}, number {ahead + 1}.",
        "A higher priority or an earlier due date moves it forward.", {"queue_key": queue.queue_key, "ahead": ahead},
        blocking=False,
    )  # fmt: skip


def _workers(situation: Situation, queue: Queue, now: datetime) -> list[Reason]:
    online = [w for w in situation.workers if takes_claims(w, now)]
    elsewhere = [w for w in online if not w.serves(queue.queue_key)]
    able, busy, lacking, barred, without = [], [], [], [], []
    task = situation.thread.envelope.next_action_key
    for worker in (w for w in online if w.serves(queue.queue_key)):
        no = refusal(worker, queue, situation.live_leases.get(worker.uid, 0))
        if (no is None or isinstance(no, WorkerAtLimit)) and situation.thread.envelope.bars(worker):
            barred.append(worker)
        elif (no is None or isinstance(no, WorkerAtLimit)) and not worker.can(task):
            without.append(worker)
        elif no is None:
            able.append(worker)
        elif isinstance(no, WorkerAtLimit):
            busy.append(worker)
        elif isinstance(no, CapabilityMismatch):
            lacking.append(worker)
    done_before = [_by_another(situation, barred, alone=not able and not busy)] if barred else []
    if without and not able and not busy:
        return [*done_before, _no_task(task, queue, without)]
    if able:
        return [
            *done_before,
            Reason("claimable_by", f"{len(able)} online worker(s) may take it now.", "Nothing is in the way.",
                   {"workers": [_name(w) for w in able[:20]]}, blocking=False),
        ]  # fmt: skip
    if busy:
        return [
            *done_before,
            Reason("workers_at_limit", f"All {len(busy)} workers that could take it are at their concurrency limit.",
                   "Wait for one to finish, start another, or raise max_concurrent_leases.",
                   {"workers": [_name(w) for w in busy[:20]]}),
        ]  # fmt: skip
    if done_before:
        return done_before
    if lacking:
        missing = sorted({c for w in lacking for c in missing_capabilities(w, queue)})
        return [
            Reason("capability_mismatch", f"No online worker of queue {queue.queue_key} has {', '.join(missing)}.",
                   "Start a worker with these capabilities.",
                   {"missing": missing, "required": list(queue.required_worker_capabilities)})
        ]  # fmt: skip
    return [_nobody(situation, queue, elsewhere)]


def _nobody(situation: Situation, queue: Queue, elsewhere: Sequence[Worker]) -> Reason:
    others = f"; {len(elsewhere)} online worker(s) serve other queues" if elsewhere else ""
    named = (
        {"elsewhere": [{**_name(w), "queues": ", ".join(w.queues[:20])} for w in elsewhere[:20]]} if elsewhere else {}
    )
    return Reason(
        "no_worker_online", f"No online worker serves queue {queue.queue_key}{others}.", "Start a worker for it.",
        {"required": list(queue.required_worker_capabilities), "registered": len(situation.workers), **named},
    )  # fmt: skip


def _no_task(task: str | None, queue: Queue, without: Sequence[Worker]) -> Reason:
    return Reason(
        "no_worker_has_task", f"None of the {len(without)} online worker(s) of queue {queue.queue_key} has the task {task!r}.",
        "Start a worker whose code has that task, or requeue the subject with another action.",
        {"task": task, "queue_key": queue.queue_key,
         "workers": [{**_name(w), "tasks": ", ".join(w.tasks[:20])} for w in without[:20]]},
    )  # fmt: skip


def _by_another(situation: Situation, barred: Sequence[Worker], *, alone: bool) -> Reason:
    env = situation.thread.envelope
    others = "No other worker that could take it is online." if alone else "Others may take it."
    return Reason(
        "by_another", f"It is done again by somebody else; {len(barred)} online worker(s) did it before. {others}",
        "Start a worker that is somebody else's, or let another person take it." if alone else "Wait for one of them.",
        {"barred": [_name(w) for w in barred[:20]],
         "barred_workers": [euid.format_euid(euid.WORKER, uid) for uid in env.barred_workers],
         "barred_principals": [euid.format_euid(euid.PRINCIPAL, uid) for uid in env.barred_principals]},
        blocking=alone,
    )  # fmt: skip


def _name(worker: Worker) -> dict[str, str]:
    return {"worker": euid.format_euid(euid.WORKER, worker.uid), "worker_key": worker.worker_key}
