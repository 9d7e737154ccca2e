"""Who may claim from a queue (S1 section 3.5)."""

from __future__ import annotations

from datetime import datetime

from tenure.model.errors import (
    CapabilityMismatch,
    QueueDisabled,
    QueueManualOnly,
    ScopeMismatch,
    TenureError,
    WorkerAtLimit,
    WorkerNotAccepting,
    WorkerSuperseded,
)  # fmt: skip
from tenure.model.queue import Queue
from tenure.model.states import WorkerStatus, WorkerType
from tenure.model.worker import Worker

_ACCEPTING = (WorkerStatus.ONLINE, WorkerStatus.OFFLINE)


def refusal(worker: Worker, queue: Queue, live_leases: int, incarnation: int | None = None) -> TenureError | None:
    """Why ``worker`` may not claim from ``queue`` now, or None. A scope that is empty on the queue matches everyone."""
    if incarnation is not None and incarnation != worker.incarnation:
        return WorkerSuperseded(
            "Another process has registered under this worker_key.",
            "Stop this process, or give it a worker_key of its own.",
            incarnation=incarnation, current=worker.incarnation,
        )  # fmt: skip
    if worker.status not in _ACCEPTING or worker.drain_requested:
        why = f" ({worker.disabled_reason})" if worker.disabled_reason else ""
        return WorkerNotAccepting(
            f"The worker is {worker.status}{why} and takes no new work.", "Register or enable it."
        )
    if not queue.enabled:
        why = f": {queue.disabled_reason}" if queue.disabled_reason else ""
        return QueueDisabled(f"Queue {queue.queue_key!r} is disabled{why}.", "Enable it with update_queue_policy.")
    if queue.manual_only and worker.worker_type is not WorkerType.HUMAN_SESSION:
        return QueueManualOnly(f"Queue {queue.queue_key!r} is for people only.", "Claim from a human session.")
    if missing := missing_capabilities(worker, queue):
        return CapabilityMismatch(
            f"The worker lacks {', '.join(missing)}.", "Register it with these capabilities.", missing=missing
        )
    for scope in ("site_scope", "platform_scope", "assay_scope"):
        allowed, own = getattr(queue, scope), getattr(worker, scope)
        if allowed and not set(allowed) & set(own):
            return ScopeMismatch(
                f"The worker's {scope} does not overlap the queue's.", "Register it with a scope that does.",
                queue=list(allowed), worker=list(own),
            )  # fmt: skip
    if live_leases >= worker.max_concurrent_leases:
        return WorkerAtLimit(
            f"The worker already holds {live_leases} of {worker.max_concurrent_leases} leases.",
            "Finish or release one, or register it with a higher max_concurrent_leases.",
        )
    return None


def missing_capabilities(worker: Worker, queue: Queue) -> list[str]:
    """The required capabilities that the worker does not have."""
    return [c for c in queue.required_worker_capabilities if c not in worker.capabilities]


def serves(worker: Worker, queue: Queue) -> bool:
    """True where only the moment could be against it: status, limit and whether the queue is enabled do not count.

    A worker that names its queues serves no other, though it may claim wherever it has the rights.
    """
    willing = worker.model_copy(update={"status": WorkerStatus.ONLINE, "drain_requested": False})
    return worker.serves(queue.queue_key) and refusal(willing, queue.model_copy(update={"enabled": True}), 0) is None


def takes_claims(worker: Worker, now: datetime) -> bool:
    """True for a worker that is online and accepting."""
    return worker.effective_status(now) is WorkerStatus.ONLINE and not worker.drain_requested
