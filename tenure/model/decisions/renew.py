"""renew_queue_lease (S1 section 6.3)."""

from __future__ import annotations

from datetime import timedelta

from tenure.model import fact_types as ft
from tenure.model.decisions.unfolding import Context, Unfolding, check_guards, held_lease, replayed_to_holder
from tenure.model.errors import WorkerNotAccepting, WorkerSuperseded
from tenure.model.fact import Draft, Fact
from tenure.model.json_text import instant
from tenure.model.requests import RenewLease
from tenure.model.states import WorkerStatus
from tenure.model.transitions import Action, check_start


def decide_renew(unfolding: Unfolding, request: RenewLease, context: Context, token: bytes | None) -> Fact:
    """Append ``lease.renewed``; a lease never gets shorter. Only the newest incarnation of a working worker may."""
    if answered := replayed_to_holder(unfolding, request, token):
        return answered
    attempt = held_lease(unfolding, request, token, context.now)
    env = unfolding.envelope
    check_guards(env, request)
    check_start(Action.RENEW, env.state)
    worker = context.workers[request.worker]
    if worker.status in (WorkerStatus.DISABLED, WorkerStatus.RETIRED):
        raise WorkerNotAccepting(
            f"The worker is {worker.status}; its leases run out and are not renewed.",
            "Enable it, or stop this process.",
        )
    if worker.incarnation != attempt.incarnation:
        raise WorkerSuperseded(
            "Another process has registered under this worker_key; leases of the former one are left to expire.",
            "Stop this process, or give it a worker_key of its own.",
            incarnation=attempt.incarnation,
            current=worker.incarnation,
        )
    ttl = request.ttl_seconds or attempt.ttl_seconds or context.policy(attempt.queue_key).lease_ttl_seconds
    until = context.now + timedelta(seconds=ttl)
    if attempt.expires_at is not None:
        until = max(until, attempt.expires_at)
    draft = Draft(
        type=ft.RENEWED, state=env.state, revision=env.revision, queue_key=env.next_queue_key, lease=attempt.uid,
        worker=attempt.worker, data={"expires_at": instant(until)}, idempotency_key=request.idempotency_key,
        payload_hash=request.payload_hash(),
    )  # fmt: skip
    return unfolding.append(draft, context)
