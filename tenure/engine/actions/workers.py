"""register_worker, heartbeat_worker, and the status of a worker (S1 sections 2.3, 5.2 and 5.3)."""

from __future__ import annotations

from typing import Any

from tenure.engine.caller import Caller
from tenure.engine.logging import told
from tenure.model import fact_types as ft
from tenure.model.decisions.workers import decide_register, decide_status
from tenure.model.errors import AlreadyExists, Forbidden, IdempotencyConflict, NotFound, WorkerSuperseded
from tenure.model.fact import Fact
from tenure.model.fact_types import REGISTRY
from tenure.model.json_text import payload_hash
from tenure.model.states import WorkerStatus
from tenure.model.worker import Worker, WorkerSpec
from tenure.store.operation import Op


def register_worker(caller: Caller, spec: WorkerSpec, idempotency_key: str | None = None) -> Op[Worker]:
    """The worker of that key, created or taken over: this process is now its newest incarnation.

    Sent again under the same idempotency key, it is answered with the incarnation of the first time, even where another
    process has taken the worker over since. ``Forbidden`` where the caller is a principal and the worker another's
    (S1 section 10.4).
    """
    key = idempotency_key
    return told(caller, "register_worker", _registered(caller, spec, key), _describe, idempotency_key=key)


def _registered(caller: Caller, spec: WorkerSpec, key: str | None) -> Op[Worker]:
    try:
        return (yield from caller.store.transaction(_register(caller, spec, key)))
    except AlreadyExists:
        # Another process registered the key at the same moment: now it is there to be taken over.
        return (yield from caller.store.transaction(_register(caller, spec, key)))


def _register(caller: Caller, spec: WorkerSpec, key: str | None) -> Op[Worker]:
    existing = yield from caller.store.worker(caller.tenant, key=spec.worker_key, lock=True)
    if existing is not None and caller.principal not in (None, existing.owner):
        raise Forbidden(
            f"The worker {spec.worker_key!r} belongs to another principal.",
            "Choose another worker_key, or act as the principal that registered it.", worker_key=spec.worker_key,
        )  # fmt: skip
    if existing is not None and key is not None:
        before = yield from caller.store.prior_fact(existing.uid, (ft.WORKER_REGISTERED,), key)
        if before is not None:
            return _registered_before(existing, before, spec, key)
    now = yield from caller.store.clock()
    if existing is None:
        uid, head = (yield from caller.store.fresh_uids(1))[0], b""
    else:
        uid, (_, head) = existing.uid, (yield from caller.store.head(existing.uid))
    worker, fact = decide_register(spec, existing, uid, caller.tenant, now, caller.actor, head, caller.principal, key)
    yield from caller.store.write_worker(worker, fact, new=existing is None)
    return worker


def _registered_before(worker: Worker, before: Fact, spec: WorkerSpec, key: str) -> Worker:
    if before.payload_hash != payload_hash({"spec": spec.spec()}):
        raise IdempotencyConflict("This idempotency key was used before with another registration.", "Use a new key.",
                                  idempotency_key=key)  # fmt: skip
    return worker.model_copy(update={"incarnation": (before.data or {})["incarnation"]})


def heartbeat_worker(caller: Caller, worker: int, incarnation: int, error_class: str | None = None) -> Op[Worker]:
    """The worker as it stands; ``WorkerSuperseded`` where another process has taken its key since."""
    return told(caller, "heartbeat_worker", _beat(caller, worker, incarnation, error_class), _describe, worker=worker)


def _beat(caller: Caller, worker: int, incarnation: int, error_class: str | None) -> Op[Worker]:
    known = yield from caller.store.beat(caller.tenant, worker, incarnation, error_class)
    if known is not None:
        return known
    standing = yield from caller.store.worker(caller.tenant, uid=worker)
    if standing is None:
        raise NotFound("There is no such worker.", "Register it first.")
    if standing.status is WorkerStatus.RETIRED:
        raise WorkerSuperseded("The worker was retired.", "Stop this process, or register again.")
    raise WorkerSuperseded(
        "Another process has registered under this worker_key.",
        "Stop this process, or give it a worker_key of its own.", incarnation=incarnation, current=standing.incarnation,
    )  # fmt: skip


def drain_worker(
    caller: Caller, worker: int, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """It finishes what it holds and claims no more."""
    return _set_status(caller, worker, ft.WORKER_DRAINING, reason, idempotency_key)


def disable_worker(
    caller: Caller, worker: int, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """It may neither claim nor renew: what it holds runs out."""
    return _set_status(caller, worker, ft.WORKER_DISABLED, reason, idempotency_key)


def enable_worker(
    caller: Caller, worker: int, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """Undo draining or disabling."""
    return _set_status(caller, worker, ft.WORKER_ENABLED, reason, idempotency_key)


def retire_worker(
    caller: Caller, worker: int, reason: str | None = None, idempotency_key: str | None = None
) -> Op[Worker]:
    """It is gone for good, unless a process registers its key again."""
    return _set_status(caller, worker, ft.WORKER_RETIRED, reason, idempotency_key)


def _set_status(caller: Caller, worker: int, type_: str, reason: str | None, key: str | None) -> Op[Worker]:
    op = caller.store.transaction(_change(caller, worker, type_, reason, key))
    return told(caller, REGISTRY[type_].action, op, _describe, worker=worker, idempotency_key=key)


def _describe(worker: Worker) -> dict[str, Any]:
    return {"worker": worker.uid, "terminal_status": worker.status, "seq": worker.seq}


def _change(caller: Caller, uid: int, type_: str, reason: str | None, key: str | None) -> Op[Worker]:
    worker = yield from caller.store.worker(caller.tenant, uid=uid, lock=True)
    if worker is None:
        raise NotFound("There is no such worker.", "Check its EUID.")
    before = (yield from caller.store.prior_fact(uid, (type_,), key)) if key is not None else None
    if before is not None:
        if before.payload_hash != payload_hash({"reason": reason} if reason else {}):
            raise IdempotencyConflict("This idempotency key was used before with another reason.", "Use a new key.",
                                      idempotency_key=key)  # fmt: skip
        return worker
    now = yield from caller.store.clock()
    _, head = yield from caller.store.head(uid)
    changed, fact = decide_status(worker, type_, reason, now, caller.actor, key, head)
    yield from caller.store.write_worker(changed, fact, new=False)
    return changed
