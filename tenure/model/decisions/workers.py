"""register_worker, drain_worker, disable_worker, enable_worker and retire_worker (S1 sections 2.3 and 5.2)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from tenure.model import fact_types as ft
from tenure.model.errors import InvalidTransition
from tenure.model.fact import Fact, check_data
from tenure.model.json_text import payload_hash
from tenure.model.states import WorkerStatus
from tenure.model.worker import Worker, WorkerSpec

#: From which status each action starts, and where it leads.
_MOVES = {
    ft.WORKER_DRAINING: ((WorkerStatus.ONLINE, WorkerStatus.DRAINING), WorkerStatus.DRAINING),
    ft.WORKER_DISABLED: ((WorkerStatus.ONLINE, WorkerStatus.DRAINING, WorkerStatus.DISABLED), WorkerStatus.DISABLED),
    ft.WORKER_ENABLED: ((WorkerStatus.DISABLED, WorkerStatus.DRAINING, WorkerStatus.ONLINE), WorkerStatus.ONLINE),
    ft.WORKER_RETIRED: (tuple(WorkerStatus), WorkerStatus.RETIRED),
}


def decide_register(
    spec: WorkerSpec,
    existing: Worker | None,
    uid: int,
    tenant: int,
    now: datetime,
    actor: str,
    head: bytes,
    owner: int | None = None,
    key: str | None = None,
) -> tuple[Worker, Fact]:
    """A new worker, or the next incarnation of one: from now on only this one may claim, beat and renew.

    A disabled worker stays disabled; a drained or retired one is online again. The owner of a worker never changes.
    """
    if existing is None:
        worker = Worker(
            **spec.model_dump(), uid=uid, tenant=tenant, owner=owner, heartbeat_at=now, seq=1, created_at=now
        )
    else:
        disabled = existing.status is WorkerStatus.DISABLED
        worker = Worker(
            **spec.model_dump(), uid=existing.uid, tenant=tenant, heartbeat_at=now, seq=existing.seq + 1,
            owner=existing.owner, created_at=existing.created_at,
            incarnation=existing.incarnation + 1, revision=existing.revision + 1,
            status=WorkerStatus.DISABLED if disabled else WorkerStatus.ONLINE,
            disabled_reason=existing.disabled_reason if disabled else None,
            last_error_at=existing.last_error_at, last_error_class=existing.last_error_class,
        )  # fmt: skip
    data = {"spec": worker.spec(), "incarnation": worker.incarnation}
    data |= {"owner": worker.owner} if worker.owner is not None else {}
    return worker, _fact(worker, ft.WORKER_REGISTERED, data, now, actor, key, head, {"spec": worker.spec()})


def decide_status(
    worker: Worker, type_: str, reason: str | None, now: datetime, actor: str, key: str | None, head: bytes
) -> tuple[Worker, Fact]:
    """The worker after draining, disabling, enabling or retiring, and the fact that tells of it."""
    starts, after = _MOVES[type_]
    if worker.status not in starts:
        raise InvalidTransition(
            f"A {worker.status} worker cannot become {after}.",
            "Register it again, or leave it.",
            state=str(worker.status),
        )
    changed = worker.model_copy(
        update={
            "status": after, "drain_requested": after is WorkerStatus.DRAINING, "seq": worker.seq + 1,
            "revision": worker.revision + 1,
            "disabled_reason": reason if after in (WorkerStatus.DISABLED, WorkerStatus.RETIRED) else None,
        }
    )  # fmt: skip
    return changed, _fact(changed, type_, {"reason": reason} if reason else {}, now, actor, key, head)


def _fact(
    worker: Worker, type_: str, data: dict[str, Any], now: datetime, actor: str, key: str | None, head: bytes,
    asked: dict[str, Any] | None = None,
) -> Fact:  # fmt: skip
    check_data(data)
    fact = Fact(
        thread=worker.uid, seq=worker.seq, type=type_, at=now, tenant=worker.tenant, actor=actor,
        revision=worker.revision, worker=worker.uid, data=data, idempotency_key=key,
        payload_hash=payload_hash(data if asked is None else asked) if key else None,
    )  # fmt: skip
    return replace(fact, hash=fact.content_hash(head))
