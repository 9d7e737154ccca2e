"""What a client can do with queues, templates and workers, written once as operations (design 01)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenure.engine.actions import queues, workers
from tenure.engine.caller import Caller
from tenure.model.queue import Queue, QueuePolicy
from tenure.model.requests import validated
from tenure.model.worker import Worker, WorkerSpec
from tenure.sdk.references import WorkerRef, worker_uid
from tenure.store.operation import Op
from tenure.store.records import Template


def define_queue(caller: Caller, /, queue_key: str, **policy: Any) -> Op[Queue]:
    """Define a queue (S1 section 2.1); the same definition again changes nothing."""
    return queues.define_queue(caller, validated(QueuePolicy, queue_key=queue_key, **policy))


def update_queue_policy(
    caller: Caller, /, queue_key: str, *, expected_revision: int | None = None, idempotency_key: str | None = None,
    **changes: Any,
) -> Op[Queue]:  # fmt: skip
    """Change a queue's policy; key and templates never change."""
    return queues.update_queue_policy(
        caller, queue_key, changes, expected_revision=expected_revision, idempotency_key=idempotency_key
    )


def retire_queue(caller: Caller, /, queue_key: str, *, reason: str, idempotency_key: str | None = None) -> Op[Queue]:
    """Retire a queue; its key is free for a replacement."""
    return queues.retire_queue(caller, queue_key, reason, idempotency_key)


def define_template(caller: Caller, /, code: str, schema: Mapping[str, Any] | None = None) -> Op[Template]:
    """Define a template: a kind of subject, with the JSON Schema of its properties."""
    return queues.define_template(caller, code, schema)


def register_worker(
    caller: Caller, /, worker_key: str, *, idempotency_key: str | None = None, **spec: Any
) -> Op[Worker]:
    """Register a worker, or take its key over: only the newest registration may claim, beat and renew."""
    return workers.register_worker(caller, validated(WorkerSpec, worker_key=worker_key, **spec), idempotency_key)


def heartbeat_worker(
    caller: Caller, /, worker: WorkerRef, *, incarnation: int, error_class: str | None = None
) -> Op[Worker]:
    """Say that the worker is alive."""
    return workers.heartbeat_worker(caller, worker_uid(worker), incarnation, error_class)


def drain_worker(
    caller: Caller, /, worker: WorkerRef, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """Let a worker finish what it holds and claim no more."""
    return workers.drain_worker(caller, worker_uid(worker), reason, idempotency_key)


def disable_worker(
    caller: Caller, /, worker: WorkerRef, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """Forbid a worker to claim and to renew."""
    return workers.disable_worker(caller, worker_uid(worker), reason, idempotency_key)


def enable_worker(
    caller: Caller, /, worker: WorkerRef, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """Undo draining or disabling."""
    return workers.enable_worker(caller, worker_uid(worker), reason, idempotency_key)


def retire_worker(
    caller: Caller, /, worker: WorkerRef, *, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """Mark a worker as gone."""
    return workers.retire_worker(caller, worker_uid(worker), reason, idempotency_key)
