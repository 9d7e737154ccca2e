"""A laboratory on a fresh database: one tenant, workers, queues, a clock that tests set, and short names for actions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

import psycopg

from tenure.engine.actions import cancel as cancel_action
from tenure.engine.actions import claim as claim_action
from tenure.engine.actions import complete as complete_action
from tenure.engine.actions import defer as defer_action
from tenure.engine.actions import dispatch as dispatch_action
from tenure.engine.actions import expire as expire_action
from tenure.engine.actions import fail as fail_action
from tenure.engine.actions import hold as hold_action
from tenure.engine.actions import queues, workers
from tenure.engine.actions import release as release_action
from tenure.engine.actions import release_hold as release_hold_action
from tenure.engine.actions import renew as renew_action
from tenure.engine.actions import requeue as requeue_action
from tenure.engine.actions import resolve as resolve_action
from tenure.engine.actions import start as start_action
from tenure.engine.actions import submit as submit_action
from tenure.engine.caller import Caller
from tenure.engine.verify import Report, verify
from tenure.model.queue import Queue, QueuePolicy
from tenure.model.requests import (
    CancelSubject,
    ClaimItems,
    CompleteExecution,
    DeferExecution,
    DispatchExternal,
    ExpireLease,
    FailExecution,
    LeaseRequest,
    PlaceHold,
    ReleaseHold,
    ReleaseLease,
    RenewLease,
    RequeueSubject,
    ResolveDeadLetter,
    StartExecution,
    SubmitSubject,
)
from tenure.model.result import ActionResult
from tenure.model.worker import Worker, WorkerSpec
from tenure.store.operation import Op
from tenure.store.postgres.runner import run
from tenure.store.postgres.store import PostgresStore
from tenure.store.records import Claimed

T = TypeVar("T")
TOKEN = b"t" * 32
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Lab:
    """Everything happens over one autocommit connection, so what a test reads is what it did."""

    def __init__(self, dsn: str, tenant_key: str = "lab") -> None:
        self.connection = psycopg.connect(dsn, autocommit=True)
        self.store = PostgresStore()
        self.now = NOON
        self.at(NOON)
        tenant = self.run(self.store.tenant(tenant_key, create=True, actor="user:ada"))
        assert tenant is not None
        self.tenant = tenant
        self.caller = Caller(self.store, tenant, "user:ada", tenant_key)
        self.queue = self.define("q")
        self.worker = self.register("w")

    def close(self) -> None:
        self.connection.close()

    def run(self, op: Op[T]) -> T:
        return run(self.connection, op)

    def sql(self, statement: str, *values: Any) -> list[Any]:
        cursor = self.connection.execute(statement, values or None)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else []

    def tamper(self, statement: str, *values: Any) -> None:
        """What only a superuser with the triggers off can do."""
        self.connection.execute("set session_replication_role = replica")
        self.connection.execute(statement, values or None)  # type: ignore[arg-type]
        self.connection.execute("set session_replication_role = origin")

    def at(self, moment: datetime) -> None:
        self.now = moment
        self.connection.execute("select set_config('tenure.now', %s, false)", [moment.isoformat()])

    def later(self, seconds: float) -> datetime:
        self.at(self.now + timedelta(seconds=seconds))
        return self.now

    def verified(self, **options: Any) -> Report:
        return self.run(verify(self.store, **options))

    def define(self, key: str, **policy: Any) -> Queue:
        return self.run(queues.define_queue(self.caller, QueuePolicy(queue_key=key, **policy)))

    def update(self, key: str, **changes: Any) -> Queue:
        return self.run(queues.update_queue_policy(self.caller, key, changes))

    def retire(self, key: str) -> Queue:
        return self.run(queues.retire_queue(self.caller, key, "replaced"))

    def register(self, key: str, **spec: Any) -> Worker:
        spec = {"max_concurrent_leases": 1000, "heartbeat_ttl_seconds": 86400} | spec
        return self.run(workers.register_worker(self.caller, WorkerSpec(worker_key=key, **spec)))

    def drain(self, worker: Worker) -> Worker:
        return self.run(workers.drain_worker(self.caller, worker.uid))

    def submit(self, queue_key: str | None = "q", **request: Any) -> int:
        return self.run(submit_action.submit(self.caller, SubmitSubject(queue_key=queue_key, **request))).subject

    def claim(self, limit: int = 1, queue_key: str = "q", **request: Any) -> list[Claimed]:
        values = {"worker": self.worker.uid, "token_hash": TOKEN, "start": True} | request
        return self.run(claim_action.claim(self.caller, ClaimItems(queue_key=queue_key, limit=limit, **values))).items

    def start(self, item: Claimed, **request: Any) -> ActionResult:
        return self.run(start_action.start(self.caller, self._held(StartExecution, item, request)))

    def dispatch(self, item: Claimed, **request: Any) -> ActionResult:
        return self.run(dispatch_action.dispatch(self.caller, self._held(DispatchExternal, item, request)))

    def renew(self, item: Claimed, **request: Any) -> ActionResult:
        return self.run(renew_action.renew(self.caller, self._held(RenewLease, item, request)))

    def renew_all(self, items: Sequence[Claimed]) -> renew_action.Renewals:
        leases = [(item.lease, TOKEN) for item in items]
        return self.run(
            renew_action.renew_all(self.caller, self.worker.uid, self.worker.incarnation, leases, ttl_seconds=None)
        )

    def release(self, item: Claimed, **request: Any) -> ActionResult:
        return self.run(release_action.release(self.caller, self._held(ReleaseLease, item, request)))

    def complete(self, item: Claimed, **request: Any) -> ActionResult:
        return self.run(complete_action.complete(self.caller, self._held(CompleteExecution, item, request)))

    def fail(self, item: Claimed, **request: Any) -> ActionResult:
        return self.run(fail_action.fail(self.caller, self._held(FailExecution, item, request)))

    def defer(self, item: Claimed, until: datetime) -> ActionResult:
        return self.run(defer_action.defer(self.caller, self._held(DeferExecution, item, {"until": until})))

    def hold(self, subject: int, reason: str = "broken seal", **request: Any) -> ActionResult:
        return self.run(hold_action.hold(self.caller, PlaceHold(subject=subject, reason=reason, **request)))

    def release_hold(self, subject: int, **request: Any) -> ActionResult:
        return self.run(release_hold_action.release_hold(self.caller, ReleaseHold(subject=subject, **request)))

    def requeue(self, subject: int, **request: Any) -> ActionResult:
        return self.run(requeue_action.requeue(self.caller, RequeueSubject(subject=subject, **request)))

    def cancel(self, subject: int, **request: Any) -> ActionResult:
        return self.run(cancel_action.cancel(self.caller, CancelSubject(subject=subject, **request)))

    def resolve(self, subject: int, reason: str = "known cause") -> ActionResult:
        return self.run(resolve_action.resolve(self.caller, ResolveDeadLetter(subject=subject, reason=reason)))

    def expire(self, lease: int, **request: Any) -> ActionResult:
        return self.run(expire_action.expire(self.caller, ExpireLease(lease=lease, **request)))

    def sweep(self) -> list[ActionResult]:
        return self.run(expire_action.sweep(self.caller))

    def _held(self, request: type[LeaseRequest], item: Claimed, values: dict[str, Any]) -> Any:
        return request(lease=item.lease, worker=item.worker, token_hash=TOKEN, **values)
